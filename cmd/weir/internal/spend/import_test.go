package spend

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// badRows returns a file of n rows of 1.00 USD without event ids, which begin at from. Every
// seventh row has a bad price, for which instead is written. Without instead the row is left out.
func badRows(n int, from time.Time, instead string) string {
	text := "time,campaign,price\n"
	for i := range n {
		price := "1.00"
		if i%7 == 3 {
			price = instead
		}
		if price != "" {
			text += fmt.Sprintf("%s,spring,%s\n", from.Add(time.Duration(i)*time.Millisecond).Format("2006-01-02T15:04:05.000Z"), price)
		}
	}
	return text
}

// TestARefusedImportChargesNothing imports a file with too many bad rows, and then the file without
// the bad rows, or with corrected ones. Each good row is charged once, however often that is
// repeated, both within the duplicate window and after it.
func TestARefusedImportChargesNothing(t *testing.T) {
	flags := csvFlags("--price-unit", "major")
	for _, c := range []struct {
		name    string
		rows    int
		age     time.Duration
		instead string // of the bad prices, in the second file
		want    int64  // USD
	}{
		{"deleted", 1000, 5 * time.Minute, "", 857},
		{"deleted, long ago", 1000, 240 * time.Hour, "", 857},
		{"deleted, more rows", 5000, 5 * time.Minute, "", 4286},
		{"corrected in place", 1000, 5 * time.Minute, "1.00", 1000},
		{"corrected in place, long ago", 1000, 240 * time.Hour, "1.00", 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			i := newImporter(t)
			from := time.Now().Add(-c.age).UTC()
			for range 2 {
				got := i.run("bad.csv", badRows(c.rows, from, "n/a"), flags...)
				if got.Code != 65 || i.records(events.EventsTopic) != 0 || !strings.Contains(got.Stderr, "Nothing was produced. Correct or delete the rows") {
					t.Fatalf("code %d, %d records:\n%s", got.Code, i.records(events.EventsTopic), got.Stderr)
				}
			}
			for n := range 2 {
				got := i.run("good.csv", badRows(c.rows, from, c.instead), flags...)
				if charged := i.charged("acme"); got.Code != 0 || charged != c.want*1_000_000 {
					t.Fatalf("import %d: code %d, %d micros, want %d USD:\n%s", n+1, got.Code, charged, c.want, got.Stderr)
				}
			}
		})
	}
}

// A refused import prints its result, in which nothing is produced.
func TestARefusedImportPrintsItsResult(t *testing.T) {
	i := newImporter(t)
	bad := badRows(700, time.Now().Add(-time.Hour), "n/a")
	for _, c := range []struct{ content, flags, want string }{
		{bad, "--price-unit major -o json", `{"read":700,"produced":0,"rejected":100,"repeated_in_file":0,"impressions":0,"clicks":0,"micros":{},"seconds":`},
		{bad, "--price-unit major", "read:               700\nproduced:           0\nrejected:           100\n"},
		{bad, "--price-unit major -o yaml", "produced: 0\nrejected: 100\n"},
		{"time,campaign\n1,\n", "-o json", `{"read":1,"produced":0,"rejected":1,`},
	} {
		if got := i.run("bad.csv", c.content, csvFlags(strings.Fields(c.flags)...)...); got.Code != 65 || !strings.Contains(got.Stdout, c.want) || !strings.Contains(got.Stdout, "bad.csv.rejects") {
			t.Errorf("%s: code %d, want %q:\n%s%s", c.flags, got.Code, c.want, got.Stdout, got.Stderr)
		}
	}
}

// TestStandardInputIsCountedOnce pipes a file that is refused, and twice one that is not. It leaves
// no temporary file.
func TestStandardInputIsCountedOnce(t *testing.T) {
	i := newImporter(t)
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	from := time.Now().Add(-240 * time.Hour)
	for _, c := range []struct {
		instead string
		code    int
		want    int64 // USD
	}{{"n/a", 65, 0}, {"", 0, 857}, {"", 0, 857}} {
		var talk clitest.Buffer
		code := clitest.Execute(t.Context(), Commands, cli.Process{
			Args:  append([]string{"ingest", "-", "--brokers", i.brokers, "--rejects", filepath.Join(i.dir, "rejects.jsonl")}, csvFlags("--price-unit", "major")...),
			Stdin: strings.NewReader(badRows(1000, from, c.instead)), Stdout: &talk, Stderr: &talk,
		})
		if charged := i.charged("acme"); code != c.code || charged != c.want*1_000_000 {
			t.Errorf("code %d, %d micros, want %d and %d USD:\n%s", code, charged, c.code, c.want, talk.String())
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("temporary files %v, %v", files, err)
	}
}

// TestInputChangesDuringAnImport: rows that were good when the input was checked are bad when it is
// produced. They are not dropped in silence.
func TestInputChangesDuringAnImport(t *testing.T) {
	i := newImporter(t)
	good := badRows(10, time.Now().Add(-time.Hour), "1.00")
	r := importRun{
		a: cli.NewApp(cli.Process{Stdout: io.Discard, Stderr: io.Discard}), name: i.write("a.csv", good), rejects: filepath.Join(i.dir, "rejects.jsonl"), noun: "events",
		newReader: func(in io.Reader) (*ingest.Reader, error) {
			return ingest.NewReader(in, ingest.Options{Format: ingest.FormatCSV, Account: "acme", Currency: "USD", PriceUnit: "major"})
		},
	}
	src, err := r.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = src.Close() }()
	reader, err := r.reader(src)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := r.check(t.Context(), src, reader, nil)
	if err != nil || checked.Rejected != 0 {
		t.Fatalf("%+v, %v", checked, err)
	}
	i.write("a.csv", strings.ReplaceAll(good, "1.00", "1,00"))
	const want = "first it had 10 rows, 0 of them rejected, and then 10, 10 of them rejected"
	var sum ingest.Summary
	r.print = func(s *ingest.Summary) error { sum = *s; return nil }
	if err := r.produce(t.Context(), src, ingest.Job{Sink: &drySink{}}, &checked); err == nil || !strings.Contains(err.Error(), want) || sum.Read != 10 || sum.Produced != 0 {
		t.Errorf("%+v, %v, want %s", sum, err, want)
	}
}

// charged returns what the spend counter charges to an account, in micros.
func (i *importer) charged(account string) (micros int64) {
	i.t.Helper()
	p, err := spendcounter.ProcessorConfig{}.Processor()
	if err != nil {
		i.t.Fatal(err)
	}
	partition := events.Shard(account, events.DefaultShards)
	counter := streamtest.New(i.t, streamtest.Options{Processor: p, Partition: partition})
	err = kafkaadmin.ReadTopic(i.t.Context(), kafka.Cluster{Brokers: []string{i.brokers}}, events.EventsTopic, time.Time{}, func(at int32, r stream.Record) error {
		if at == partition {
			counter.AppendTo(events.EventsTopic, r)
		}
		return nil
	})
	if err != nil {
		i.t.Fatal(err)
	}
	counter.FoldAll()
	counter.Commit(time.Now().UnixMilli())
	if bad := counter.TakeRejects(); len(bad) > 0 {
		i.t.Fatalf("%d dead letters, the first is %+v", len(bad), bad[0])
	}
	for _, value := range counter.Table(spendcounter.TableSpend) {
		var day eventspb.Spend
		if err := proto.Unmarshal(value, &day); err != nil {
			i.t.Fatal(err)
		}
		for _, dc := range day.ByDc {
			micros += dc.ChargedMicros
		}
	}
	return micros
}
