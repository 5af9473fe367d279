package spend

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/clitest"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/devbroker"
)

// importer runs `weir ingest` of files against a broker.
type importer struct {
	t       *testing.T
	brokers string
	dir     string
}

func newImporter(t *testing.T) *importer {
	t.Helper()
	cfg, err := config.Load(config.Options{})
	if err != nil {
		t.Fatal(err)
	}
	broker, err := devbroker.Start(devbroker.Config{Topics: node.SpendCounter(cfg).Topics()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = broker.Close() })
	return &importer{t: t, brokers: strings.Join(broker.Addrs(), ","), dir: t.TempDir()}
}

// run imports a file with the given name and content.
func (i *importer) run(name, content string, flags ...string) clitest.Result {
	i.t.Helper()
	path := i.write(name, content)
	args := append([]string{"ingest", path, "--brokers", i.brokers, "--rejects", path + ".rejects.jsonl"}, flags...)
	return clitest.Run(i.t, Commands, nil, args...)
}

// write writes a file and returns its path.
func (i *importer) write(name, content string) string {
	i.t.Helper()
	path := filepath.Join(i.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		i.t.Fatal(err)
	}
	return path
}

func TestIngestOddFiles(t *testing.T) {
	i := newImporter(t)
	const bad = "campaign,time\n,1\n,1\n,1\nc,1741500000\n"
	for _, c := range []struct {
		name, content string
		flags         []string
		code          int
		want          string // in stderr
	}{
		{"semicolons", "campaign;time\n", nil, 64, "add --delimiter ';'"},
		{"tabs", "campaign\ttime\n", nil, 64, "add --delimiter tab"},
		{"tabs, with the flag", "campaign\ttime\nc\t2026-11-20 10:00\n", []string{"--delimiter", "tab"}, 0, "10:00:00 UTC"},
		{"decimal comma", "campaign;time;price\nc;20/11/2026;1,50\n", []string{"--delimiter", ";", "--decimal", ",", "--time-format", "%d/%m/%Y", "--price-unit", "major"}, 0, "1.50 USD"},
		{"long delimiter", "a", []string{"--delimiter", "::"}, 64, `"::" is not one`},
		{"header only", "campaign,time\n", nil, 0, "the input has no rows"},
		{"rejects", bad, nil, 65, "3 of 4, at most 10% are allowed"},
		{"rejects, allowed", bad, []string{"--max-rejects", "75%"}, 0, "rejected 3 of 4 rows"},
		{"nothing right", "campaign,time\n,1\n", nil, 65, "every row was rejected"},
		{"nothing right, allowed", "campaign,time\n,1\n", []string{"--max-rejects", "100%"}, 65, "every row was rejected"},
		{"limit", "a", []string{"--max-rejects", "few"}, 64, "--max-rejects 10%"},
		{"xz", "\xfd7zXZ\x00\x00", nil, 1, "xz -dc FILE"},
		{"no \x1b[31mfile", "\xfd7zXZ\x00\x00", nil, 1, `no \x1b[31mfile`},
	} {
		got := i.run(c.name, c.content, csvFlags(c.flags...)...)
		if got.Code != c.code || !strings.Contains(got.Stderr, c.want) || strings.Contains(got.Stderr, "\x1b") {
			t.Errorf("%s: code %d, want %d and %q:\n%s", c.name, got.Code, c.code, c.want, got.Stderr)
		}
	}
}

func TestIngestResult(t *testing.T) {
	i := newImporter(t)
	const row = `{"event_id":"%s","account":"a","campaign":"c","type":"click","price_micros":%d,"currency":"%s","event_ms":1384000000000}` + "\n"
	file := fmt.Sprintf(row+row+row+row, "e1", 1_234, "USD", "e1", 1_234, "USD", "e2", 2_500_000, "EUR", "e3", 1_000_000, "USD")
	got := i.run("a.jsonl", file, "--format", "jsonl")
	for _, want := range []string{"produced:           3\n", "repeated in file:   1\n", "price:              2.50 EUR\n", "price:              1.001234 USD\n", " rows/s\n"} {
		if got.Code != 0 || !strings.Contains(got.Stdout, want) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	got = i.run("a.jsonl", file, "--format", "jsonl", "-o", "json")
	if want := `"repeated_in_file":1,"impressions":0,"clicks":3,"micros":{"EUR":2500000,"USD":1001234}`; !strings.Contains(got.Stdout, want) {
		t.Errorf("%+v, want %s", got, want)
	}
}

func csvFlags(more ...string) []string {
	return append([]string{"--format", "csv", "--account", "acme", "--currency", "USD"}, more...)
}

func TestIngestAsksForThePriceUnit(t *testing.T) {
	i := newImporter(t)
	const file = "campaign,time,price\nc1,2026-11-20 11:00:00,1.5\n"
	got := i.run("a.csv", file, csvFlags("--tz", "Europe/Berlin")...)
	if got.Code != 64 || !strings.Contains(got.Stderr, "major (1 is 1.00 USD)") || !strings.Contains(got.Stderr, "--price-unit major") {
		t.Errorf("without a unit: %+v", got)
	}
	got = i.run("a.csv", file, csvFlags("--tz", "Europe/Berlin", "--price-unit", "major")...)
	want := `line 2: impression "c1", 2026-11-20 11:00:00 CET, budget day 20261120, 1.50 USD`
	if got.Code != 0 || !strings.Contains(got.Stderr, want) {
		t.Errorf("%+v, want %s", got, want)
	}
}
