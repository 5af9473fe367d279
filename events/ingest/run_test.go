package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// memorySink keeps the records. It acknowledges them in Flush.
type memorySink struct {
	values   [][]byte
	imports  [][]byte // values of the import headers
	acked    int64
	failAt   int // Produce call that fails, from 1
	flushErr error
	onFlush  func(ctx context.Context)
}

var errBroker = errors.New("broker gone")

func (s *memorySink) Produce(_ context.Context, partition int32, r Record) error {
	key, value := r.Key, r.Value
	if len(s.values)+1 == s.failAt {
		return errBroker
	}
	if partition != events.ShardBytes(key, events.DefaultShards) {
		return fmt.Errorf("account %s went to partition %d", key, partition)
	}
	s.values = append(s.values, value)
	if r.Import != nil {
		s.imports = append(s.imports, r.Import)
	}
	return nil
}

func (s *memorySink) Flush(ctx context.Context) error {
	if s.onFlush != nil {
		s.onFlush(ctx)
	}
	if s.flushErr == nil {
		s.acked = int64(len(s.values))
	}
	return s.flushErr
}

func (s *memorySink) Acked() int64 { return s.acked }

// events decodes all values after the run, so that an overwritten value shows.
func (s *memorySink) events(t testing.TB) []*eventspb.AdEvent {
	t.Helper()
	list := make([]*eventspb.AdEvent, len(s.values))
	for i, v := range s.values {
		list[i] = &eventspb.AdEvent{}
		if err := proto.Unmarshal(v, list[i]); err != nil {
			t.Fatal(err)
		}
	}
	return list
}

func noRejects(t testing.TB) *RejectFile {
	t.Helper()
	f := NewRejectFile(filepath.Join(t.TempDir(), "x.rejects.jsonl"))
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func jsonReader(t testing.TB, lines ...string) *Reader {
	t.Helper()
	r, err := NewReader(strings.NewReader(strings.Join(lines, "\n")), Options{Format: FormatJSONL})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRunRealFile(t *testing.T) {
	path := dataFile(t, "ads/ipinyou_1458_220k.csv.gz")
	sink, rejects := &memorySink{}, noRejects(t)
	var last Status
	calls := 0
	sum, err := Run(t.Context(), open(t, path, ipinyou220k(t)), Job{Sink: sink, Rejects: rejects, Progress: func(s Status) {
		if s.BytesRead < last.BytesRead || s.Read < last.Read {
			t.Fatalf("progress went back from %+v to %+v", last, s)
		}
		last = s
		calls++
	}})
	if err != nil {
		t.Fatal(err)
	}
	sum.Seconds = 0
	want := Summary{Read: 220_000, Produced: 220_156, Impressions: 220_000, Clicks: 156, Micros: map[string]int64{"CNY": 147_125_090}}
	if !reflect.DeepEqual(sum, want) {
		t.Errorf("%+v, want %+v", sum, want)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if last != (Status{BytesRead: st.Size(), BytesTotal: st.Size(), Read: 220_000, Produced: 220_156}) || calls < 220_000/rowsPerProgress {
		t.Errorf("last of %d reports: %+v", calls, last)
	}
	var micros int64
	for _, e := range sink.events(t) {
		micros += e.PriceMicros
	}
	if micros != want.Micros["CNY"] {
		t.Errorf("the records sum to %d micros, want %d", micros, want.Micros["CNY"])
	}
}

func TestRunCountsRepeatsAndKeepsRejects(t *testing.T) {
	bad := []string{`{"event_id":"e1"}`, "{\"x\xff\":1}"}
	sink, rejects := &memorySink{}, noRejects(t)
	other := strings.Replace(goodJSON, `"a1"`, `"a2"`, 1)
	euro := strings.NewReplacer("USD", "EUR", "e1", "e2").Replace(goodJSON)
	derived := strings.Replace(goodJSON, `"event_id":"e1",`, "", 1)
	sum, err := Run(t.Context(), jsonReader(t, goodJSON, bad[0], goodJSON, "", other, derived, derived, bad[1], goodJSON, euro), Job{Sink: sink, Rejects: rejects})
	if err != nil {
		t.Fatal(err)
	}
	sum.Seconds = 0
	want := Summary{Read: 9, Produced: 7, Rejected: 2, Repeated: 2, Impressions: 7, Micros: map[string]int64{"USD": 6 * 1234, "EUR": 1234}, RejectsFile: rejects.Name()}
	if !reflect.DeepEqual(sum, want) {
		t.Errorf("%+v, want %+v", sum, want)
	}
	text, err := json.Marshal(sum)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{"read": 9, "produced": 7, "rejected": 2, "repeated_in_file": 2, "clicks": 0, "impressions": 7} {
		if fields[name] != want {
			t.Errorf("%s: %v, want %v in %s", name, fields[name], want, text)
		}
	}
	if want := `"micros":{"EUR":1234,"USD":7404}`; !strings.Contains(string(text), want) {
		t.Errorf("%s: want %s", text, want)
	}
	kept, err := os.ReadFile(sum.RejectsFile)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(kept), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("rejects %q", lines)
	}
	for i, want := range []rejectLine{{Line: 2, Reason: ReasonEmptyAccount}, {Line: 8, Reason: ReasonJSON}} {
		var got rejectLine
		if err := json.Unmarshal([]byte(lines[i]), &got); err != nil {
			t.Fatal(err)
		}
		raw := string(got.RawBase64)
		if got.Raw != nil {
			raw = *got.Raw
		}
		if got.Line != want.Line || !strings.HasPrefix(got.Reason, want.Reason+": ") || raw != bad[i] {
			t.Errorf("reject %d: %s", i, lines[i])
		}
	}
}

// TestRunShowsTheFirstRow: the row is shown before its events are produced, rejected rows are not.
func TestRunShowsTheFirstRow(t *testing.T) {
	sink := &memorySink{}
	var lines []int
	job := Job{Sink: sink, Rejects: noRejects(t), First: func(row *Row) {
		lines = append(lines, row.Line)
		if len(sink.values) > 0 || len(row.Events) != 1 || row.Events[0].EventId != "e1" {
			t.Errorf("after %d events: %v", len(sink.values), row.Events)
		}
	}}
	if _, err := Run(t.Context(), jsonReader(t, "{", goodJSON, goodJSON), job); err != nil || !slices.Equal(lines, []int{2}) {
		t.Errorf("the rows of lines %v were shown, %v", lines, err)
	}
}

func TestRunOnErrors(t *testing.T) {
	t.Run("produce", func(t *testing.T) {
		sum, err := Run(t.Context(), jsonReader(t, goodJSON, goodJSON, goodJSON), Job{Sink: &memorySink{failAt: 3}, Rejects: noRejects(t)})
		if !errors.Is(err, errBroker) || !strings.Contains(err.Error(), "line 3") || sum.Produced != 2 || sum.Impressions != 2 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
	t.Run("flush", func(t *testing.T) {
		sum, err := Run(t.Context(), jsonReader(t, goodJSON), Job{Sink: &memorySink{flushErr: errBroker}, Rejects: noRejects(t)})
		if !errors.Is(err, errBroker) || sum.Produced != 0 || sum.Read != 1 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		sink := &memorySink{onFlush: func(ctx context.Context) {
			if _, bounded := ctx.Deadline(); ctx.Err() != nil || !bounded {
				t.Errorf("what was handed over cannot be flushed: %v, deadline %v", ctx.Err(), bounded)
			}
		}}
		lines := slices.Repeat([]string{goodJSON}, 3*rowsPerProgress)
		sum, err := Run(ctx, jsonReader(t, lines...), Job{Sink: sink, Rejects: noRejects(t), Progress: func(s Status) {
			if s.Read == rowsPerProgress {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || sum.Read != 2*rowsPerProgress || sum.Produced != sum.Read {
			t.Errorf("%+v, %v", sum, err)
		}
	})
	t.Run("input", func(t *testing.T) {
		packed := gz(t, goodJSON+"\n"+goodJSON+"\n")
		src, err := Open(t.Context(), "-", strings.NewReader(string(packed[:len(packed)-5])))
		if err != nil {
			t.Fatal(err)
		}
		r, err := NewReader(src, Options{Format: FormatJSONL})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := Run(t.Context(), r, Job{Sink: &memorySink{}, Rejects: noRejects(t)})
		if err == nil || !strings.Contains(err.Error(), "after line 2") || sum.Produced != 2 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
	t.Run("input that wraps the end", func(t *testing.T) {
		lost := iotest.ErrReader(fmt.Errorf("connection lost: %w", io.EOF))
		r, err := NewReader(io.MultiReader(strings.NewReader(goodJSON+"\n"+goodJSON), lost), Options{Format: FormatJSONL})
		if err != nil {
			t.Fatal(err)
		}
		sum, err := Run(t.Context(), r, Job{Sink: &memorySink{}, Rejects: noRejects(t)})
		if err == nil || !strings.Contains(err.Error(), "after line 1: connection lost") || sum.Produced != 1 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
	t.Run("rejects", func(t *testing.T) {
		missing := NewRejectFile(filepath.Join(t.TempDir(), "no", "such", strings.Repeat("x", 300)))
		sum, err := Run(t.Context(), jsonReader(t, goodJSON, "{", goodJSON), Job{Sink: &memorySink{}, Rejects: missing})
		if err == nil || !strings.Contains(err.Error(), "line 2") || sum.Produced != 1 {
			t.Errorf("%+v, %v", sum, err)
		}
	})
}

func TestRejectFileNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	want := RejectsName(filepath.Join(dir, "ads.csv.gz"))
	var names []string
	for range 3 {
		f := NewRejectFile(want)
		if f.Name() != "" {
			t.Error("a file before the first reject")
		}
		for line := range 2 {
			if err := f.WriteReject(&Row{Line: line, Err: reject(ReasonJSON, "x"), Raw: []byte("abc"), Size: 5}); err != nil {
				t.Fatal(err)
			}
		}
		names = append(names, filepath.Base(f.Name()))
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"ads.csv.gz.rejects.jsonl", "ads.csv.gz.rejects-1.jsonl", "ads.csv.gz.rejects-2.jsonl"}; !slices.Equal(names, want) {
		t.Errorf("files %q, want %q", names, want)
	}
	text, err := os.ReadFile(want)
	if line := `{"line":0,"reason":"bad_json: x","raw":"abc","bytes":5}` + "\n"; err != nil || !strings.HasPrefix(string(text), line) || strings.Count(string(text), "\n") != 2 {
		t.Errorf("%q, %v", text, err)
	}
	if got := RejectsName("-"); got != "stdin.rejects.jsonl" {
		t.Errorf("of standard input: %s", got)
	}
}

// TestRejectFileFallsBack: if the input's folder is not writable, the file is created in the
// working directory.
func TestRejectFileFallsBack(t *testing.T) {
	t.Chdir(t.TempDir())
	f := NewRejectFile(filepath.Join("no", "such", "folder", "a.rejects.jsonl"))
	if err := f.WriteReject(&Row{Line: 1, Err: reject(ReasonJSON, "x")}); err != nil {
		t.Fatal(err)
	}
	if f.Name() != "a.rejects.jsonl" {
		t.Errorf("file %q", f.Name())
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestRecentIDsForgetTheOldest(t *testing.T) {
	s := recentIDs{generation: 3}
	id := func(i int) string { return fmt.Sprint("e", i) }
	for i := range 6 {
		if s.add("a", id(i)) {
			t.Errorf("%d is new", i)
		}
	}
	for i := 3; i < 6; i++ {
		if !s.add("a", id(i)) {
			t.Errorf("%d was among the last 3", i)
		}
	}
	if s.add("a\x00", id(5)) || s.add("b", id(5)) {
		t.Error("another account's id was taken for this one's")
	}
	if s.add("a", id(0)) {
		t.Error("0 should be forgotten")
	}
}

// TestGreatestEventFits checks that the greatest event fits into maxEventBytes.
func TestGreatestEventFits(t *testing.T) {
	id := strings.Repeat("x", maxIDBytes)
	e := &eventspb.AdEvent{
		EventId: id, Account: id, Campaign: id, ServingDc: id, InsertionId: id, LineItem: id, Arm: id, Currency: "USD",
		Type: eventspb.EventType_EVENT_TYPE_CONVERSION, PriceMicros: 1<<63 - 1, BudgetDay: 99991231, EventMs: maxEventMs, IngestMs: -1,
	}
	if n := proto.Size(e); n > maxEventBytes {
		t.Errorf("%d bytes, room for %d", n, maxEventBytes)
	}
}

func TestCacheIsBounded(t *testing.T) {
	m := newCache[int](3)
	for i := range 10 {
		m.put(fmt.Sprint(i), i)
		if len(m.known) > 3 || m.known[fmt.Sprint(i)] != i {
			t.Fatalf("after %d: %v", i, m.known)
		}
	}
}

func BenchmarkRun(b *testing.B) {
	path := dataFile(b, "ads/ipinyou_1458_220k.csv.gz")
	b.ReportAllocs()
	rows := int64(0)
	for b.Loop() {
		sum, err := Run(b.Context(), open(b, path, ipinyou220k(b)), Job{Sink: &discard{}, Rejects: noRejects(b)})
		if err != nil {
			b.Fatal(err)
		}
		rows += sum.Read
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

type discard struct{ n int64 }

func (d *discard) Produce(context.Context, int32, Record) error { d.n++; return nil }
func (d *discard) Flush(context.Context) error                  { return nil }
func (d *discard) Acked() int64                                 { return d.n }

func BenchmarkJSONL(b *testing.B) {
	text := strings.Repeat(goodJSON+"\n", 1000)
	b.ReportAllocs()
	rows := 0
	for b.Loop() {
		r, err := NewReader(strings.NewReader(text), Options{Format: FormatJSONL})
		if err != nil {
			b.Fatal(err)
		}
		for {
			row, err := r.Next()
			if err != nil {
				break
			}
			if row.Err != nil {
				b.Fatal(row.Err)
			}
			rows++
		}
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

// TestImportNumbersRows: each event of an import carries the import and a growing number, which
// does not depend on rows that are rejected or repeated.
func TestImportNumbersRows(t *testing.T) {
	id := events.ImportID{7}
	numbers := func(lines ...string) (list []int64) {
		sink := &memorySink{}
		if _, err := Run(t.Context(), jsonReader(t, lines...), Job{Sink: sink, Rejects: noRejects(t), Import: id}); err != nil {
			t.Fatal(err)
		}
		if len(sink.imports) != len(sink.values) {
			t.Fatalf("%d headers of %d events", len(sink.imports), len(sink.values))
		}
		for _, value := range sink.imports {
			in, n, ok := events.ParseImport(value)
			if !ok || in != id || len(list) > 0 && n <= list[len(list)-1] {
				t.Fatalf("import %x, number %d after %v, %v", in, n, list, ok)
			}
			list = append(list, n)
		}
		return list
	}
	second := strings.Replace(goodJSON, "e1", "e2", 1)
	all := numbers(goodJSON, second, strings.Replace(goodJSON, "e1", "e3", 1))
	if got := numbers(`{"event_id":"e1"}`, second); !slices.Equal(got, all[1:2]) {
		t.Errorf("after a rejected row: %v, want %v", got, all[1:2])
	}
	if got := numbers(goodJSON, goodJSON, second); !slices.Equal(got, []int64{all[0], all[2]}) {
		t.Errorf("after a repeated row: %v, want the first and the third of %v", got, all)
	}
	sink := &memorySink{}
	if _, err := Run(t.Context(), jsonReader(t, goodJSON), Job{Sink: sink, Rejects: noRejects(t)}); err != nil || len(sink.imports) > 0 {
		t.Errorf("without an import: %d headers, %v", len(sink.imports), err)
	}
}
