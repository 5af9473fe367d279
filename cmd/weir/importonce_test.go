package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
	"time"
)

// TestImportsCountOnce imports a file of refunds and one of events without ids three times: before
// and after a restart that is 30 minutes of events later, and after the loss of the state
// directory.
func TestImportsCountOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three processes")
	}
	dir := t.TempDir()
	env := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a", "WEIR_DATA_DIR=" + filepath.Join(dir, "data")}
	_, env = counterBroker(t, env)
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	refunds := write("refunds.csv", "reference_id,account,campaign,budget_day,amount,currency,serving_dc\n"+
		"r1,acme,spring,20261101,4,USD,eu\nr2,acme,spring,20261101,3,USD,eu\nr3,acme,autumn,20261101,99,USD,eu\n")
	old := write("old.csv", "time,campaign,price\n2026-11-01T10:00:00Z,winter,1.50\n2026-11-01T10:00:00Z,winter,1.50\n")
	now := time.Now()
	for i, round := range []struct {
		name string
		env  []string
	}{
		{"first", nil},
		{"after 30 minutes and a restart", nil},
		{"after the loss of the state directory", []string{"WEIR_DATA_DIR=" + filepath.Join(dir, "new")}},
	} {
		t.Run(round.name, func(t *testing.T) { // whose end stops the process
			env := append(slices.Clone(env), round.env...)
			ready := background(t, env, "ready: API ", "run", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
			env = append(env, "WEIR_SERVER="+regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1])
			at := now.Add(time.Duration(i-2) * 30 * time.Minute).UnixMilli()
			events := ""
			for _, campaign := range []string{"spring", "autumn"} {
				events += fmt.Sprintf(`{"event_id":"%s%d","account":"acme","campaign":"%s","type":"click","price_micros":10000000,"currency":"USD","budget_day":"20261101","event_ms":%d,"ingest_ms":%d}`+"\n", campaign, i, campaign, at, at)
			}
			expect(t, env, 0, "produced:           2\n", "ingest", write("events.jsonl", events), "--format", "jsonl")
			expect(t, env, 0, "amount:             106.00 USD", "adjust", "import", refunds, "--amount-unit", "major")
			row := fmt.Sprintf("acme,%%s,%%s,2026-11-01,USD,%%s,eu,refund,[0-9]+,%d,0,%%s\n", i)
			want := regexp.MustCompile("^account,.*\n" + fmt.Sprintf(row, "r1", "spring", "4000000", "false") + fmt.Sprintf(row, "r2", "spring", "3000000", "false") +
				fmt.Sprintf(row, "r3", "autumn", "99000000", "true") + "$")
			if r := weir(t, env, "adjust", "list", "--account", "acme", "--wait", "-o", "csv"); r.Code != 0 || !want.MatchString(r.Stdout) {
				t.Errorf("%s%s, want %s", r.Stdout, r.Stderr, want)
			}
			expect(t, env, 0, fmt.Sprintf(`"charged_micros":%d,"refunded_micros":7000000,`, (i+1)*10_000_000), "spend", "show", "--campaign", "spring", "--wait", "-o", "json")
			expect(t, env, 0, "over-refunded  refunds exceed charges on 2026-11-01\n", "spend", "show", "--campaign", "autumn", "--wait")
			earlier := ""
			if i > 0 {
				earlier = "this file was imported before"
			}
			expect(t, env, 0, earlier, "ingest", old, "--format", "csv", "--account", "acme", "--currency", "USD", "--price-unit", "major")
			expect(t, env, 0, `"charged_micros":3000000,`, "spend", "show", "--campaign", "winter", "--wait", "-o", "json")
			if i == 2 {
				expect(t, env, 0, `reference "r1" of account "acme" was applied before`, "adjust", "create", "--reference", "r1", "--account", "acme", "--campaign", "spring",
					"--day", "2026-11-01", "--amount", "4", "--currency", "USD", "--serving-dc", "eu")
			}
		})
	}
}
