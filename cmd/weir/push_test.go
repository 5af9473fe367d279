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

// TestPush: a process of eu writes its totals into us. weir push status and weir doctor show it,
// also while us is away; the process stays ready.
func TestPush(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process and two brokers")
	}
	dir := t.TempDir()
	common := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a", "WEIR_TOPICS_REPLICATION_FACTOR=1", "WEIR_TOPICS_MIN_INSYNC=1"}
	us, usAddr := datacentre(t, append(slices.Clone(common), "WEIR_DC=us", "WEIR_DCS=eu=127.0.0.1:1,us", "WEIR_DATA_DIR="+filepath.Join(dir, "us")), 0)
	env := append(slices.Clone(common), "WEIR_DC=eu", "WEIR_DCS=eu,us="+usAddr, "WEIR_DATA_DIR="+filepath.Join(dir, "eu"))
	_, addr := datacentre(t, env, 0)
	env = append(env, "WEIR_KAFKA_BROKERS="+addr)
	expect(t, env, 0, "ok        push into us: it has spend.from.eu with 2 partitions", "doctor")
	ready := background(t, env, "ready: API ", "run", "--roles", "spend", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	server := "WEIR_SERVER=" + regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1]
	ops := regexp.MustCompile(`metrics http://([^/]+)/`).FindStringSubmatch(ready)[1]
	asked := []string{server, "WEIR_DATA_DIR=" + filepath.Join(dir, "command")}

	file := filepath.Join(dir, "events.jsonl")
	event := fmt.Sprintf(`{"event_id":"e","account":"acme","campaign":"spring","type":"click","price_micros":5,"currency":"USD","event_ms":%d}`, time.Now().UnixMilli())
	if err := os.WriteFile(file, []byte(event+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, asked, 0, "produced:           1\n", "ingest", file, "--format", "jsonl")
	eventually(t, asked, `"charged_micros":5,`, "spend", "show", "--campaign", "spring", "-o", "json")
	for _, e := range [][]string{env, asked} {
		pushing(t, e)
	}
	list := rows(t, env, func(list []map[string]any) bool {
		pushed := 0.0
		for _, r := range list {
			n, _ := r["pushed"].(float64)
			if n == 0 {
				return false // it may push nothing while the other one pushes health rows
			}
			pushed += n
		}
		return pushed >= 3 // the row, and the health of both partitions
	}, "push", "status")
	if len(list) != 2 || list[1]["target"] != "us" || list[1]["partition"] != 1.0 || list[1]["process"] != "a" || list[1]["age_seconds"].(float64) > 30 {
		t.Errorf("status %v", list)
	}
	expect(t, env, cli.ExitUsage, "did you mean us?", "push", "status", "--target", "su")
	expect(t, []string{"WEIR_DATA_DIR=" + dir, "WEIR_KAFKA_BROKERS=" + addr}, cli.ExitConfig, "dcs has no other datacentre", "push", "status")

	if err := us.Close(); err != nil {
		t.Fatal(err)
	}
	for _, e := range [][]string{env, asked} {
		rows(t, e, func(list []map[string]any) bool {
			return len(list) == 2 && !slices.ContainsFunc(list, func(r map[string]any) bool { return r["state"] == "pushing" || r["reason"] == "" })
		}, "push", "status")
	}
	eventually(t, env, "role push/us waits for us", "lag")
	expect(t, env, 0, "push into us: it cannot be reached", "doctor")
	expect(t, env, 0, "", "ready", "--ops-listen", ops)
}
