package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// server starts roles and returns the setting of their API.
func server(t *testing.T, environ []string, roles string) string {
	t.Helper()
	ready := background(t, environ, "ready: API ", "run", "--roles", roles, "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0")
	return "WEIR_SERVER=" + regexp.MustCompile(`API http://([^,]+),`).FindStringSubmatch(ready)[1]
}

// TestBudgets sets budgets by flags, documents and imports in one datacentre. The other one has a
// copy, and its own versions. What is refused changes nothing.
func TestBudgets(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two processes and two brokers")
	}
	dir := t.TempDir()
	common := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a"}
	usEnv := append(slices.Clone(common), "WEIR_DC=us", "WEIR_DATA_DIR="+filepath.Join(dir, "us"))
	_, usAddr := datacentre(t, usEnv, 0)
	usEnv = append(usEnv, "WEIR_KAFKA_BROKERS="+usAddr)
	euEnv := append(slices.Clone(common), "WEIR_DC=eu", "WEIR_DCS=eu,us="+usAddr, "WEIR_DATA_DIR="+filepath.Join(dir, "eu"))
	_, euAddr := datacentre(t, euEnv, 0)
	euEnv = append(euEnv, "WEIR_KAFKA_BROKERS="+euAddr)
	us, eu := []string{server(t, usEnv, "pacing")}, []string{server(t, euEnv, "pacing,mirror")}
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}

	expect(t, us, cli.ExitFailed, `account "acme" has no budgets`, "budget", "get", "acme")
	spring := []string{"budget", "set", "acme", "--campaign", "spring", "--daily", "100"}
	expect(t, us, cli.ExitData, `time_zone: "" is not a time zone`, spring...)
	zoned := append(slices.Clone(spring), "--time-zone", "Europe/Berlin", "--currency", "EUR")
	expect(t, us, 0, "to be set", append(slices.Clone(zoned), "--dry-run")...)
	expect(t, us, cli.ExitFailed, "no budgets", "budget", "get", "acme")
	expect(t, us, 0, "set", zoned...)
	expect(t, us, 0, "unchanged", zoned...)
	expect(t, us, 0, "unchanged", spring...)
	expect(t, us, 0, `"version": 2`, "budget", "set", "acme", "--campaign", "brand", "--average-daily", "80.5", "--cap", "1.5", "--begin", "2026-12-01", "-o", "json")
	expect(t, us, cli.ExitData, "campaigns[0].cap: only a budget with average_daily has a cap", "budget", "set", "acme", "--campaign", "brand", "--daily", "1", "--cap", "1.5")
	document := `{"account":"acme","version":2,"time_zone":"Europe/Berlin","currency":"EUR","campaigns":[` +
		`{"campaign":"brand","average_daily":"80.50","cap":"1.5","flights":[{"begin":"2026-12-01"}]},{"campaign":"spring","daily":"100.00"}]}`
	expect(t, us, 0, document, "budget", "get", "acme", "-o", "json")
	expect(t, us, 0, "2026-12-01..", "budget", "get", "acme")
	expect(t, us, 0, "unchanged", "budget", "set", "acme", "--file", file("same.json", document))
	other := file("other.json", strings.NewReplacer("80.50", "81", `"version":2`, `"version":1`).Replace(document))
	expect(t, us, cli.ExitFailed, `account "acme" has version 2, and the document has version 1`, "budget", "set", "acme", "--file", other)
	expect(t, us, cli.ExitUsage, "is of account acme", "budget", "set", "bcme", "--file", other)

	later := strings.NewReplacer("80.50", "82", `"version":2`, `"version":2,"effective_from":"2999-01-01"`).Replace(document)
	expect(t, us, 0, "set", "budget", "set", "acme", "--file", file("later.json", later)) // an edit of version 2 is version 3
	unversioned := file("unversioned.jsonl", strings.Replace(document, `"version":2,`, "", 1))
	expect(t, us, 0, `"unchanged": 1`, "budget", "import", unversioned, "-o", "json") // of what is in force
	ending := file("ending.jsonl", strings.NewReplacer(`"version":2,`, "", "80.50", "83").Replace(document))
	expect(t, us, cli.ExitData, "the document without a version would remove it: send version 4", "budget", "import", ending)
	expect(t, us, 0, "version 3 is scheduled from 2998-12-31T23:00:00Z on", "budget", "get", "acme")
	expect(t, us, 0, document, "budget", "get", "acme", "-o", "json")
	expect(t, us, cli.ExitFailed, "version 3 of account acme holds later", append(slices.Clone(spring), "--dry-run")...)
	expect(t, us, 0, `"version": 4`, "budget", "set", "acme", "--file", file("again.json", strings.Replace(document, `"version":2`, `"version":4`, 1)), "-o", "json")
	document = strings.Replace(document, `"version":2`, `"version":4`, 1)

	// Flags change what they name, and nothing else.
	expect(t, us, 0, `"version": 5`, "budget", "set", "acme", "--campaign", "brand", "--average-daily", "81", "--cap", "1.2", "-o", "json")
	changed := `{"campaign":"brand","average_daily":"81.00","cap":"1.2","flights":[{"begin":"2026-12-01"}]}`
	expect(t, us, 0, changed, "budget", "get", "acme", "-o", "json")
	expect(t, us, 0, `"version": 6`, "budget", "set", "acme", "--campaign", "brand", "--lifetime", "9", "--end", "2026-12-31", "--begin", "2026-12-02", "-o", "json")
	expect(t, us, 0, `{"campaign":"brand","lifetime":"9.00","flights":[{"begin":"2026-12-02","end":"2026-12-31"}]}`, "budget", "get", "acme", "-o", "json")
	expect(t, us, cli.ExitData, `campaigns[0].controller: "fast" is not known: use asap, dual, pid, ptr or ratio`, "budget", "set", "acme", "--campaign", "brand", "--controller", "fast")
	fast := []string{"budget", "set", "acme", "--campaign", "brand", "--controller", "asap"}
	expect(t, us, 0, `"version": 7`, append(slices.Clone(fast), "-o", "json")...)
	expect(t, us, 0, `"flights":[{"begin":"2026-12-02","end":"2026-12-31"}],"controller":"asap"}`, "budget", "get", "acme", "-o", "json")
	expect(t, us, 0, "unchanged", fast...)
	document = strings.Replace(document, `"version":4`, `"version":8`, 1)
	expect(t, us, 0, `"version": 8`, "budget", "set", "acme", "--file", file("back.json", document), "-o", "json")

	// Of an import with a bad line nothing is written.
	line := func(account, more, amount string) string {
		return `{"account":"` + account + `",` + more + `"time_zone":"UTC","currency":"USD","campaigns":[{"campaign":"c","daily":"` + amount + `"}]}` + "\n"
	}
	good := line("b1", "", "1") + "\n" + line("b2", "", "2")
	expect(t, us, cli.ExitData, `line 4: campaigns[0].daily: the amount is negative`, "budget", "import", file("bad", good+line("b3", "", "-1")))
	expect(t, us, cli.ExitData, `line 4: account "b1" is in line 1 too`, "budget", "import", file("twice", good+line("b1", "", "1")))
	expect(t, us, cli.ExitData, `line 4: nothing was written: account "acme" has version 8, and the document has version 1`, "budget", "import", file("old", good+line("acme", `"version":1,`, "1")))
	expect(t, us, 0, "dry run: nothing was written", "budget", "import", file("good", good), "--dry-run")
	if list := rows(t, us, func([]map[string]any) bool { return true }, "budget", "list"); len(list) != 1 {
		t.Errorf("after refused imports: %v", list)
	}
	expect(t, us, 0, `"set": 2`, "budget", "import", file("good", good), "-o", "json")
	expect(t, us, 0, `"unchanged": 2`, "budget", "import", file("good", good), "-o", "json")
	expect(t, us, 0, "there are more versions: add --page", "budget", "list", "--limit", "2")

	// The other datacentre has the copies, and a greater version of its own.
	eventually(t, eu, document, "budget", "get", "acme", "-o", "json")
	expect(t, eu, 0, `"version": 9`, "budget", "set", "acme", "--campaign", "spring", "--daily", "50", "-o", "json")
	expect(t, eu, 0, "ads.budgets.from.us", "lag", "--app", "pacing")
	list := rows(t, eu, func(list []map[string]any) bool { return len(list) == 3 }, "budget", "list")
	if list[0]["state"] != "in_force" {
		t.Errorf("%v", list)
	}
	if r := weir(t, eu, "state", "scan", "--app", "pacing", "--table", "budgets"); r.Code != 0 || !strings.Contains(r.Stdout, `"account":"b1","version":1`) {
		t.Errorf("%+v", r)
	}
}
