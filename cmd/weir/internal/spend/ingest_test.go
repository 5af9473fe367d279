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
	path := filepath.Join(i.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		i.t.Fatal(err)
	}
	args := append([]string{"ingest", path, "--brokers", i.brokers, "--rejects", path + ".rejects.jsonl"}, flags...)
	return clitest.Run(i.t, Commands, nil, args...)
}

func TestIngestResult(t *testing.T) {
	i := newImporter(t)
	const row = `{"event_id":"%s","account":"a","campaign":"c","type":"click","price_micros":%d,"currency":"%s","event_ms":1384000000000}` + "\n"
	file := fmt.Sprintf(row+row+row+row, "e1", 1_234, "USD", "e1", 1_234, "USD", "e2", 2_500_000, "EUR", "e3", 1_000_000, "USD")
	got := i.run("a.jsonl", file, "--format", "jsonl")
	for _, want := range []string{"produced:           4\n", "repeated in file:   1\n", "price:              2.50 EUR\n", "price:              1.002468 USD\n", " rows/s\n"} {
		if got.Code != 0 || !strings.Contains(got.Stdout, want) {
			t.Errorf("%+v, want %q", got, want)
		}
	}
	got = i.run("a.jsonl", file, "--format", "jsonl", "-o", "json")
	if want := `"repeated_in_file":1,"impressions":0,"clicks":4,"micros":{"EUR":2500000,"USD":1002468}`; !strings.Contains(got.Stdout, want) {
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
