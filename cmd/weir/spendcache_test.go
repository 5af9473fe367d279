package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// TestSpendCache: two datacentres count the events of both. When the counter of one stops, its
// spend cache serves the dataset of the other one, which goes on counting, and its commands tell
// why.
func TestSpendCache(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes and two brokers")
	}
	dir := t.TempDir()
	common := []string{
		"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a", "WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1",
	}
	of := func(dc, dcs, data string) []string {
		return append(slices.Clone(common), "WEIR_DC="+dc, "WEIR_DCS="+dcs, "WEIR_DATA_DIR="+filepath.Join(dir, data))
	}
	_, us := datacentre(t, of("us", "eu=127.0.0.1:1,us", "us"), 0)
	_, eu := datacentre(t, of("eu", "eu,us="+us, "eu"), 0)
	ring := "eu=" + eu + ",us=" + us
	run := func(dc, data string, roles string) (server []string, stop func()) {
		env := append(of(dc, ring, data), "WEIR_KAFKA_BROKERS="+map[string]string{"eu": eu, "us": us}[dc])
		ready, stop := stoppable(t, env, "ready: API ", "run", "--roles", roles, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
		return []string{
			"WEIR_SERVER=" + regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1],
			"WEIR_DATA_DIR=" + filepath.Join(dir, "command"),
		}, stop
	}
	usServer, _ := run("us", "us", "spend")
	_, stopCounter := run("eu", "eu-counter", "spendcounter,mirror,push")
	cache, stopCache := run("eu", "eu-cache", "spendcache")

	produced := 0
	produce := func(server []string, dc string) {
		produced++
		file := filepath.Join(dir, fmt.Sprintf("events-%d.jsonl", produced))
		event := fmt.Sprintf(`{"event_id":"e%d","account":"acme","campaign":"spring","type":"click","price_micros":5,"currency":"USD","event_ms":%d,"serving_dc":"%s"}`,
			produced, time.Now().UnixMilli(), dc)
		if err := os.WriteFile(file, []byte(event+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, server, 0, "produced:           1\n", "ingest", file, "--format", "jsonl")
	}
	account := []string{"spend", "account", "--account", "acme", "-o", "json"}
	produce(usServer, "us")
	eventually(t, cache, `"charged_micros":5,`, account...)
	// This cache may have seen the event first in the dataset of us, and would use that one for 30
	// s. The next one sees two healthy datasets.
	list := rows(t, cache, func(list []map[string]any) bool {
		return len(list) == 2 && list[0]["healthy"] == 2.0 && list[1]["healthy"] == 2.0
	}, "spend", "datasets")
	if list[0]["dataset"] != "eu" || list[1]["dataset"] != "us" {
		t.Errorf("datasets %v", list)
	}
	stopCache()
	cache, _ = run("eu", "eu-cache", "spendcache")
	rows(t, cache, func(list []map[string]any) bool {
		return len(list) == 2 && list[0]["chosen"] == 2.0 && list[1]["chosen"] == 0.0
	}, "spend", "datasets")
	eventually(t, cache, `"mode":"normal","dataset":"eu","reason":"eu `, account...)
	rows(t, cache, func(list []map[string]any) bool {
		return len(list) == 2 && list[0]["chosen"] == true && list[1]["charged_micros"] == 5.0
	}, "spend", "datasets", "--account", "acme", "--campaign", "spring")
	expect(t, cache, 0, "the dataset of us has no row", "spend", "datasets", "--account", "acme", "--campaign", "other")
	expect(t, cache, cli.ExitUsage, "--campaign needs --account", "spend", "datasets", "--campaign", "spring")
	expect(t, cache, cli.ExitUsage, "--shards does not go", "spend", "datasets", "--account", "acme", "--campaign", "spring", "--shards")

	stopCounter()
	produce(usServer, "us")
	eventually(t, cache, `"mode":"normal","dataset":"us","reason":"eu lags by `, account...)
	eventually(t, cache, `"charged_micros":10,`, account...)
	expect(t, cache, 0, "dataset of us", "spend", "account", "--account", "acme")
	expect(t, cache, 0, "account other has no spend on these days", "spend", "account", "--account", "other")
	rows(t, cache, func(list []map[string]any) bool {
		return len(list) == 2 && list[0]["healthy"] == false && list[1]["chosen"] == true
	}, "spend", "datasets", "--account", "acme")

	expect(t, cache, cli.ExitUsage, "is not a date", "spend", "account", "--account", "acme", "--from", "spring")
}
