package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events"
)

// TestSpendReconcile: a billing file that was ingested equals the charges. Each alteration of a row
// is named with its line and offset.
func TestSpendReconcile(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process and a broker")
	}
	dir := t.TempDir()
	env := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a", "WEIR_DATA_DIR=" + filepath.Join(dir, "data")}
	_, addr := datacentre(t, env, 0)
	env = append(env, "WEIR_KAFKA_BROKERS="+addr)
	ready := background(t, env, "ready: API ", "run", "--roles", "spendcounter", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	env = []string{
		"WEIR_SERVER=" + regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1], "WEIR_DATA_DIR=" + filepath.Join(dir, "command"),
	}
	at := time.Now().UTC().Truncate(24 * time.Hour).Add(-12 * time.Hour)
	day := at.Format(time.DateOnly)
	lines := []string{"id,cid,ts,cost"}
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("e%d,c%d,%s,0.%02d", i, i%3, at.Add(time.Duration(i)*time.Second).Format(time.RFC3339), i%7))
	}
	write := func(name string, change func(lines []string) []string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(strings.Join(change(append([]string(nil), lines...)), "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	format := []string{
		"--format", "csv", "--map", "event_id=id,campaign=cid,time=ts,price=cost", "--price-unit", "major", "--currency", "USD", "--account", "acme",
	}
	same := write("same.csv", func(l []string) []string { return l })
	expect(t, env, 0, "produced:           200\n", append([]string{"ingest", same}, format...)...)
	eventually(t, env, `"events":66,`, "spend", "show", "--campaign", "c2", "-o", "json")
	eventually(t, env, `"events":67,`, "spend", "show", "--campaign", "c1", "-o", "json")
	eventually(t, env, `"events":67,`, "spend", "show", "--campaign", "c0", "-o", "json")

	run := func(code int, want, file string, more ...string) {
		t.Helper()
		expect(t, env, code, want, append(append([]string{"spend", "reconcile", file}, format...), more...)...)
	}
	run(0, "the file has 200 events of 5.940000 USD", same)
	run(0, "the file has 3 campaign days; of all compared ones, 0 differ", same)
	run(0, "of all compared ones, 0 differ", same, "--counts")
	place := fmt.Sprintf("ads.events/%d", events.Shard("acme", 2))
	set := func(line int, text string) func([]string) []string {
		return func(l []string) []string { l[line-1] = text; return l }
	}
	row := lines[101] // line 102: e100 of c1, 0.02
	altered := write("price.csv", set(102, strings.Replace(row, ",0.02", ",0.03", 1)))
	run(cli.ExitFailed, "line 102: event e100 of campaign c1 costs 0.030000 USD in the file, and 0.020000 USD in "+place+", offset 100\n", altered)
	run(cli.ExitFailed, fmt.Sprintf("acme,c1,%s,USD,", day), altered, "-o", "csv")
	run(cli.ExitFailed, fmt.Sprintf("price,102,e100,acme,c1,%s,USD,30000,20000,%s/100\n", day, place), altered, "--rows", "-o", "csv")
	moved := write("campaign.csv", set(102, strings.Replace(row, ",c1,", ",c2,", 1)))
	run(cli.ExitFailed, fmt.Sprintf("line 102: event e100 of campaign c2 is of campaign c2 of acme on %s in USD in the file, and of campaign c1 of acme on %s in USD in %s",
		day, day, place), moved)
	run(cli.ExitFailed, "line 202: event e100 of campaign c1 is in the file before", write("twice.csv", func(l []string) []string { return append(l, row) }))
	run(cli.ExitFailed, "event e100 of campaign c1 of 0.020000 USD ("+place+", offset 100) is not in the file",
		write("less.csv", func(l []string) []string { return append(l[:101], l[102:]...) }))
	run(cli.ExitFailed, "line 202: event x of campaign new of 0.020000 USD is not in the log",
		write("more.csv", func(l []string) []string {
			return append(l, strings.Replace(strings.Replace(row, "e100", "x", 1), "c1", "new", 1))
		}))

	// An event without a price changes no charge: e98 of c2 costs 0.
	free := write("free.csv", func(l []string) []string { return append(l[:99], l[100:]...) })
	run(0, "of all compared ones, 0 differ", free)
	run(cli.ExitFailed, "event e98 of campaign c2 of 0.000000 USD", free, "--counts")

	// Campaigns that a file writes with escapes are not found by their ids in the lines.
	escaped := []string{}
	for i := range 200 {
		price := i % 7 * 10_000
		if i == 100 {
			price = 30_000
		}
		escaped = append(escaped, fmt.Sprintf(`{"event_id":"e%d","account":"acme","campaign":"\u0063%d","event_ms":%d,"price_micros":%d,"currency":"USD","type":"impression"}`,
			i, i%3, at.Add(time.Duration(i)*time.Second).UnixMilli(), price))
	}
	lines = append(lines, escaped...)
	expect(t, env, cli.ExitFailed, "line 101: event e100 of campaign c1 costs 0.030000 USD in the file, and 0.020000 USD in "+place+", offset 100\n",
		"spend", "reconcile", write("escaped.jsonl", func(l []string) []string { return l[201:] }), "--format", "jsonl")
	lines = lines[:201]

	// An account that the counter does not know is beside one that it does.
	ghost := write("ghost.csv", func(l []string) []string {
		for i := range l {
			l[i] += ",acme"
		}
		l[0], l[101] = lines[0]+",acct", row+",ghost"
		return l
	})
	format[3] += ",account=acct"
	run(cli.ExitFailed, "account ghost has no spend", ghost)
	run(cli.ExitFailed, fmt.Sprintf("only_in_file,102,e100,ghost,c1,%s,USD,20000,,\n", day), ghost, "--rows", "-o", "csv")

	// Without ids, the rows are known if they are those that were imported.
	format[3] = "campaign=cid,time=ts,price=cost"
	expect(t, env, 0, "produced:           200\n", append([]string{"ingest", same}, append(format, "--account", "other", "--import-id", "other")...)...)
	eventually(t, env, `"events":67,`, "spend", "show", "--campaign", "c0", "--account", "other", "-o", "json")
	eventually(t, env, `"events":67,`, "spend", "show", "--campaign", "c1", "--account", "other", "-o", "json")
	eventually(t, env, `"events":66,`, "spend", "show", "--campaign", "c2", "--account", "other", "-o", "json")
	run(0, "of all compared ones, 0 differ", same, "--account", "other")
	run(cli.ExitFailed, "of 0.030000 USD is not in the log, and 1 further events differ", altered, "--account", "other")
	spaced := write("spaced.csv", func(l []string) []string {
		for i := 1; i < len(l); i++ {
			l[i] = "x" + l[i]
		}
		l[101] = "x" + strings.Replace(row, ",0.02", ",0.03", 1)
		return l
	})
	run(cli.ExitFailed, "the rows of the file have no event ids, and are not those that were imported", spaced, "--account", "other")

	t.Chdir(dir) // for the files of rejected rows
	run(cli.ExitFailed, `rejected 1 of 200 rows, which are not compared: "`, write("bad.csv", set(102, "e100,c1,yesterday,0.02")))
	run(cli.ExitData, "too many rows are rejected: 1 of 101, at most 0 are allowed", filepath.Join(dir, "bad.csv"), "--max-rejects", "0")
	run(cli.ExitUsage, "price unit", same, "--price-unit", "")
	run(cli.ExitIO, "cannot open the input", filepath.Join(dir, "none.csv"))
}
