package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// arguments returns the arguments with which each command would ask the server of --server. FILE
// stands for an empty file, CSV for one with a header, DOCUMENT for one with budgets. A command
// that is not there has none.
func arguments() map[string]string {
	const (
		key       = "--client demo --pool demo --key mine"
		oneRegion = "eu"
	)
	adjusted := "--account acme --currency USD --serving-dc eu"
	return map[string]string{
		"adjust create":            "--reference r --campaign spring --day 2026-11-01 --amount 1 " + adjusted,
		"adjust import":            "CSV --amount-unit major " + adjusted,
		"adjust list":              "--account acme",
		"bridge scan":              oneRegion,
		"budget get":               "acme",
		"budget import":            "DOCUMENT",
		"budget set":               "acme --campaign spring --daily 1",
		"client create":            "demo",
		"client delete":            "demo",
		"client get":               "demo",
		"client import":            "FILE",
		"client update":            "demo",
		"dlq drop":                 "--all --yes --why test",
		"dlq replay":               "--all --yes",
		"dlq show":                 "ads.events/0/0",
		"ingest":                   "FILE --format jsonl",
		"job backtest":             "FILE",
		"job cancel":               "q 0-1",
		"job list":                 "q",
		"job poll":                 "q --agent a",
		"job redo":                 "q 0-1",
		"job report":               "q 0-1 1 --agent a",
		"job show":                 "q 0-1",
		"job submit":               "q",
		"job why":                  "q 0-1",
		"lease get":                key,
		"lease headroom":           "--client demo --pool demo",
		"lease history":            key,
		"lease list":               "--client demo --pool demo",
		"lease release":            key,
		"lease show":               key,
		"mirror skip":              "us/ads.events/5 --to 8",
		"pacing backtest":          "FILE",
		"pacing notify":            "http://127.0.0.1:1",
		"pacing override shard":    "0 --leader b --for 1m",
		"pacing override campaign": "c --account a --stop --for 1m",
		"pacing override writer":   "us --for 1m",
		"pacing show":              "spring",
		"pacing history":           "spring",
		"partition skip":           "ads.events/0 --to 1 --why damaged",
		"pool create":              "demo --client demo",
		"pool delete":              "demo --client demo",
		"pool get":                 "demo --client demo",
		"pool import":              "FILE",
		"pool list":                "--client demo",
		"pool update":              "demo --client demo",
		"queue alarms":             "q",
		"queue events":             "q",
		"queue notify":             "http://127.0.0.1:1",
		"queue pause":              "q",
		"queue resume":             "q",
		"queue set":                "q",
		"queue signals":            "q",
		"region adopt":             "eu --by us",
		"region create":            oneRegion,
		"region delete":            oneRegion,
		"region evacuate":          oneRegion,
		"region get":               oneRegion,
		"region import":            "FILE",
		"region update":            oneRegion,
		"resource create":          "r1 --client demo --pool demo",
		"resource delete":          "r1 --client demo --pool demo",
		"resource get":             "r1 --client demo",
		"resource import":          "FILE --client demo --pool demo",
		"resource list":            "--client demo --pool demo",
		"resource update":          "r1 --client demo --pool demo",
		"savepoint restore":        "monday",
		"savepoint drop":           "monday",
		"savepoint create":         "monday",
		"spend account":            "--account acme",
		"spend list":               "--account acme",
		"spend reconcile":          "CSV --format csv --map campaign=reference_id,time=budget_day --currency USD --account acme",
		"spend show":               "--campaign spring",
		"state get":                "--table spend key",
		"state scan":               "--table spend",
	}
}

// leaves returns the commands below c that do something, by their path without the program.
func leaves(c *cobra.Command) (list []*cobra.Command) {
	for _, sub := range c.Commands() {
		list = append(list, leaves(sub)...)
	}
	if c.Runnable() {
		list = append(list, c)
	}
	return list
}

// TestServerFlag: each command of the tree asks the server that --server names, or refuses the flag
// with a sentence.
func TestServerFlag(t *testing.T) {
	dir := t.TempDir()
	files := strings.NewReplacer("FILE", filepath.Join(dir, "empty"), "CSV", filepath.Join(dir, "csv"), "DOCUMENT", filepath.Join(dir, "document"))
	for name, text := range map[string]string{"FILE": "", "CSV": "reference_id,campaign,budget_day,amount\n", "DOCUMENT": `{"account":"a","time_zone":"UTC","currency":"EUR","campaigns":[{"campaign":"c","daily":"1"}]}`} {
		if err := os.WriteFile(files.Replace(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := arguments()
	for _, c := range leaves(newRoot(cli.NewApp(cli.Process{}))) {
		path := strings.TrimPrefix(c.CommandPath(), "weir ")
		if path == "replay" { // asks for a savepoint if a process holds data_dir
			continue
		}
		t.Run(path, func(t *testing.T) {
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				asked.Add(1)
				w.WriteHeader(http.StatusNotFound)
			}))
			defer server.Close()
			line := path + " " + files.Replace(args[path])
			r := weir(t, []string{"WEIR_DATA_DIR=" + t.TempDir()}, append(strings.Fields(line), "--server", server.URL)...)
			refused := r.Code == cli.ExitUsage && strings.Contains(r.Stderr, "asks no server: ")
			if asks := asked.Load() > 0; asks == refused {
				t.Errorf("asked the server %t, refused the flag %t, code %d:\n%s%s", asks, refused, r.Code, r.Stdout, r.Stderr)
			}
		})
	}
}

// TestEnvironmentServer: a command that asks no server does not take the default brokers while
// WEIR_SERVER names a server, whose brokers may be others.
func TestEnvironmentServer(t *testing.T) {
	env := []string{"WEIR_SERVER=127.0.0.1:1", "WEIR_DATA_DIR=" + t.TempDir()}
	for _, line := range []string{"run", "topics plan", "topics apply", "repartition", "replay --app check", "bench spend"} {
		expect(t, env, cli.ExitUsage, "set --brokers or kafka.brokers", strings.Fields(line)...)
	}
	expect(t, env, cli.ExitUnavailable, "refused", "topics", "plan", "--brokers", "127.0.0.1:1")
	expect(t, env, cli.ExitOK, "", "version")
	expect(t, env[1:], cli.ExitUsage, "set --brokers or kafka.brokers", "replay", "--app", "check", "--server", "127.0.0.1:1")
}
