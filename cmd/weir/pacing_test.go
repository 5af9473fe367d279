package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/spendcache/client"
)

// TestPacingSimulate: weir pacing simulate prints a row for each day and controller, and the same
// rows again.
func TestPacingSimulate(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates seven days")
	}
	args := []string{"pacing", "simulate", "--seeds", "1", "--day", "hold,ordinary", "--controllers", "dual-flight,asap"}
	list := rows(t, nil, func([]map[string]any) bool { return true }, args...)
	if len(list) != 4 {
		t.Fatalf("%v", list)
	}
	for i, want := range []string{"ordinary asap", "ordinary dual-flight", "hold asap", "hold dual-flight"} {
		day, controller, _ := strings.Cut(want, " ")
		r := list[i]
		if r["day"] != day || r["controller"] != controller || r["utilisation_percent"].(float64) < 95 || r["value_per_unit"].(float64) <= 0 ||
			(r["avgerr_percent"].(float64) < 60) != (controller != "asap") {
			t.Errorf("row %d: %v, want %s", i, r, want)
		}
	}
	again := weir(t, nil, "pacing", "simulate", "--seeds", "1", "--controllers", "asap", "-o", "csv")
	if want := fmt.Sprintf("%v,%v,%v", list[0]["overspend_percent"], list[0]["utilisation_percent"], list[0]["avgerr_percent"]); again.Code != 0 ||
		!strings.Contains(again.Stdout, "\nordinary,asap,"+want) {
		t.Errorf("code %d, want %s again\n%s", again.Code, want, again.Stdout)
	}
	expect(t, nil, cli.ExitUsage, `--controllers: "dual" does not exist`, "pacing", "simulate", "--controllers", "dual")
	expect(t, nil, cli.ExitUsage, "did you mean blind?", "pacing", "simulate", "--day", "blinds")
	expect(t, nil, cli.ExitUsage, "--seeds 0 is out of range", "pacing", "simulate", "--seeds", "0")
}

// spendFile writes a CSV of two days of spend each 5 minutes, most of it in the afternoon.
func spendFile(t *testing.T, more string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("at,campaign,spend,clicks\n")
	for i := range 576 {
		fmt.Fprintf(&b, "2026-06-%02d %02d:%02d:00,spring,%d.50,%d\n", 1+i/288, i%288/12, i%12*5, 1+i%288/20, i%2)
	}
	b.WriteString(more)
	name := filepath.Join(t.TempDir(), "spend.csv")
	if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestPacingBacktest: weir pacing backtest prints a row for each controller and draws a picture. A
// bad row is named, and gives no figures.
func TestPacingBacktest(t *testing.T) {
	name, svg := spendFile(t, ""), filepath.Join(t.TempDir(), "x.svg")
	args := []string{"pacing", "backtest", name, "--map", "time=at,value=clicks", "--controllers", "ratio,ptr-60s", "--svg", svg}
	list := rows(t, nil, func([]map[string]any) bool { return true }, args...)
	if len(list) != 2 || list[0]["controller"] != "ptr-60s" || list[1]["controller"] != "ratio" {
		t.Fatalf("%v", list)
	}
	for _, r := range list {
		if r["utilisation_percent"].(float64) < 99 || r["overspend_percent"].(float64) > 0.1 || !(r["value_per_unit"].(float64) > 0) ||
			!(r["ks_percent"].(float64) > 0) || !(r["avgerr_percent"].(float64) > 0) {
			t.Errorf("%v", r)
		}
	}
	if picture, err := os.ReadFile(svg); err != nil || !strings.Contains(string(picture), "spring, 2026-06-02") {
		t.Errorf("%v: %.300s", err, picture)
	}
	if list := rows(t, nil, func([]map[string]any) bool { return true }, "pacing", "backtest", name, "--map", "time=at"); list[0]["value_per_unit"] != nil {
		t.Errorf("a value without a column: %v", list[0])
	}
	bad := spendFile(t, "2026-06-03 00:00:00,spring,-1,0\n2026-06-03 00:05:00,spring,1,many\n2026-06-03 00:10:00,,1,0\n")
	for text, args := range map[string][]string{
		"3 of 579 rows are rejected: line 578: negative_spend": {"--map", "time=at,value=clicks"},
		`line 579: bad_value: "many"`:                          {"--map", "time=at,value=clicks", "--max-rejects", "2"},
		"2 of 579 rows are rejected":                           {"--map", "time=at"},
	} {
		expect(t, nil, cli.ExitData, text, append([]string{"pacing", "backtest", bad}, args...)...)
	}
	expect(t, nil, 0, "rejected 2 of 579 rows, which are not in the figures: line 578", "pacing", "backtest", bad, "--map", "time=at", "--max-rejects", "1%")
	for text, flags := range map[string]string{
		`no column "time"`:                  "",
		`unknown field "price"`:             "--map price=spend",
		`spend="cost": no column "cost"`:    "--map time=at,spend=cost",
		`--budget "0"`:                      "--map time=at --budget 0",
		`--budget "-5%"`:                    "--map time=at --budget=-5%",
		`--slot 7m0s is out of range`:       "--map time=at --slot 7m",
		`unknown time zone "Mars"`:          "--map time=at --tz Mars",
		`"dual" does not exist`:             "--map time=at --controllers dual",
		"--delimiter and --decimal are one": "--map time=at --delimiter ;;",
		"limit of rejected rows":            "--map time=at --max-rejects x",
	} {
		expect(t, nil, cli.ExitUsage, text, append([]string{"pacing", "backtest", name}, strings.Fields(flags)...)...)
	}
	hourly := filepath.Join(t.TempDir(), "hourly.csv")
	lines := "time,campaign,spend\n"
	for h := range 20 {
		lines += fmt.Sprintf("2026-06-01 %02d:00:00,a,1\n", h)
	}
	if err := os.WriteFile(hourly, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	expect(t, nil, cli.ExitData, "closer than 1h0m0s, and a slot has 5m0s", "pacing", "backtest", hourly)
	expect(t, nil, 0, "paced 1 campaign days", "pacing", "backtest", hourly, "--slot", "1h")
}

// TestPacingBacktestOctober: on the campaigns of the iPinYou log of October 2013, the default
// spends the budget, and is at least twice as close to the plan as PTR at 60 s.
func TestPacingBacktestOctober(t *testing.T) {
	file := filepath.Join("..", "..", "..", "shared", "data", "ads", "ipinyou_5min_october.csv.gz")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("real data missing: %v", err)
	}
	list := rows(t, nil, func([]map[string]any) bool { return true }, "pacing", "backtest", file, "--map",
		"time=bin_start_cst,spend=cost_milli_fen,value=clicks", "--tz", "Asia/Shanghai", "--spend-unit", "cpm-fen", "--controllers", "ratio,ptr-60s")
	figure := func(row int, name string) float64 { return list[row][name].(float64) }
	if figure(1, "utilisation_percent") < 99 || figure(1, "overspend_percent") > 0.1 || figure(0, "avgerr_percent") < 2*figure(1, "avgerr_percent") {
		t.Errorf("%v", list)
	}
}

// TestPacing: the campaign of an account with a budget is paced by its spend, and explained.
func TestPacing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a process and a broker, and waits for ticks of ten seconds")
	}
	// It is noon where the account is, so that no day ends within the test.
	offset := 12 - time.Now().UTC().Hour()
	zone := fmt.Sprintf("Etc/GMT%+d", -offset) // the sign of these names is turned around
	day := time.Now().UTC().Add(time.Duration(offset) * time.Hour).Format("20060102")

	dir := t.TempDir()
	env := []string{"WEIR_SPEND_PARTITIONS=2", "WEIR_INSTANCE=a", "WEIR_DATA_DIR=" + filepath.Join(dir, "data")}
	_, addr := datacentre(t, env, 0)
	env = append(env, "WEIR_KAFKA_BROKERS="+addr)
	asked := []string{server(t, env, "spendcounter,spendcache,pacing"), "WEIR_DATA_DIR=" + filepath.Join(dir, "command")}
	alerts := webhook(t, append(env, "WEIR_DATA_DIR="+filepath.Join(dir, "notify")), "pacing")
	adServer := newAdServer(t, strings.TrimPrefix(asked[0], "WEIR_SERVER="))
	spend := func(id string, micros int64) {
		file := filepath.Join(dir, id)
		event := fmt.Sprintf(`{"event_id":%q,"account":"acme","campaign":"spring","type":"click","price_micros":%d,"currency":"EUR","event_ms":%d,"budget_day":%s}`,
			id, micros, time.Now().UnixMilli(), day)
		if err := os.WriteFile(file, []byte(event+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		expect(t, asked, 0, "produced:           1\n", "ingest", file, "--format", "jsonl")
	}
	show := []string{"pacing", "show", "spring"}
	expect(t, asked, cli.ExitFailed, "weir budget set", show...)
	spend("first", 30_000_000)
	eventually(t, asked, `"charged_micros":30000000,`, "spend", "show", "--campaign", "spring", "-o", "json")
	expect(t, asked, 0, "set", "budget", "set", "acme", "--campaign", "spring", "--daily", "100", "--time-zone", zone, "--currency", "EUR")
	eventually(t, asked, "It has spent 30.00 of 100.00 EUR today", show...)
	expect(t, asked, 0, "spring of acme takes part in ", show...)
	adServer.await(t, func(d client.Decision) bool { return d.Open && d.Probability < 1 && d.Probability > 0 })
	spend("second", 80_000_000)
	eventually(t, asked, `"reason": "budget_spent",`, append(slices.Clone(show), "-o", "json")...)
	expect(t, asked, 0, `"open": false,`, append(slices.Clone(show), "-o", "json")...)
	adServer.await(t, func(d client.Decision) bool { return !d.Serve && d.Reason == "budget_spent" })
	expect(t, asked, 0, "set", "budget", "set", "acme", "--campaign", "spring", "--daily", "500")
	eventually(t, asked, `"open": true,`, append(slices.Clone(show), "-o", "json")...)
	expect(t, asked, 0, "accounts: 1; campaigns: 1; that take part in auctions: 1", "pacing", "status")
	adServer.await(t, func(d client.Decision) bool { return d.Open })
	adServer.Shown(client.Shown{Account: "acme", Campaign: "spring", ExpectedMicros: 5_000_000})
	rows(t, asked, func(list []map[string]any) bool {
		flight, _ := list[0]["in_flight_micros"].(float64)
		return flight > 2e6 && flight <= 5e6
	}, show...)
	expect(t, asked, 0, " more is in flight (charged after ", show...)

	override := []string{"pacing", "override", "campaign", "spring"}
	expect(t, asked, cli.ExitUsage, "either --stop or --probability", append(slices.Clone(override), "--for", "1m")...)
	expect(t, asked, cli.ExitFailed, "there is nothing to withdraw", append(slices.Clone(override), "--account", "acme", "--withdraw")...)
	expect(t, asked, cli.ExitFailed, "no account that is paced has a campaign", "pacing", "override", "campaign", "autumn", "--stop", "--for", "1m")
	expect(t, asked, 0, "spring of acme has the override", append(slices.Clone(override), "--stop", "--for", "1h", "--why", "a test")...)
	expect(t, asked, 0, " has stopped it until ", show...)
	adServer.await(t, func(d client.Decision) bool { return !d.Serve && d.Reason == "paused" })
	expect(t, asked, 0, `"probability": 0,`, "pacing", "override", "list", "-o", "json")
	expect(t, asked, 0, "spring of acme has the override", append(slices.Clone(override), "--probability", "0.9", "--for", "1h")...)
	adServer.await(t, func(d client.Decision) bool { return d.Open && d.Probability == 0.9 && d.Reason == "override" })
	expect(t, asked, 0, "", append(slices.Clone(override), "--withdraw")...)
	adServer.await(t, func(d client.Decision) bool { return d.Open && d.Reason != "override" })

	last := rows(t, asked, func(list []map[string]any) bool { return list[len(list)-1]["reason"] != "override" },
		"pacing", "history", "spring", "--every", "10s", "--controller", "dual")
	reasons := []string{}
	for _, r := range last {
		if reason, _ := r["reason"].(string); r["account"] != "acme" || r["other_multiplier"] == nil {
			t.Errorf("%v", r)
		} else if len(reasons) == 0 || reasons[len(reasons)-1] != reason {
			reasons = append(reasons, reason)
		}
	}
	if text := strings.Join(reasons, " "); !strings.Contains(text, "budget_spent ") || !strings.Contains(text, "paused override ") {
		t.Errorf("the history has the reasons %s", text)
	}
	expect(t, asked, 0, "recorded states are the replayed ones", "pacing", "history", "spring", "--account", "acme")
	expect(t, asked, cli.ExitFailed, `no tick of account "acme" has a campaign "autumn"`, "pacing", "history", "autumn", "--account", "acme")
	expect(t, asked, cli.ExitFailed, `no tick of any account has a campaign "autumn"`, "pacing", "history", "autumn")
	expect(t, asked, cli.ExitUsage, "did you mean pid?", "pacing", "history", "spring", "--controller", "pit")

	list := rows(t, asked, func(list []map[string]any) bool { return len(list) == 3 }, "pacing", "alerts")
	for i, percent := range []float64{50, 80, 100} {
		if r := list[i]; r["percent"] != percent || r["campaign"] != "spring" || r["spent"] != "110.00" || r["budget"] != "100.00" {
			t.Errorf("%v", r)
		}
		if got := alerts.next(t); got["id"] != list[i]["id"] || got["percent"] != percent {
			t.Errorf("the webhook got %v, want %v", got, list[i])
		}
	}
}

// TestPacingOverride: the second of two processes leads shards by overrides, which are in the
// lists, until they are withdrawn.
func TestPacingOverride(t *testing.T) {
	if testing.Short() {
		t.Skip("starts two processes and a broker")
	}
	dir := t.TempDir()
	env := []string{"WEIR_SPEND_PARTITIONS=2"}
	_, addr := datacentre(t, append(env, "WEIR_INSTANCE=a", "WEIR_DATA_DIR="+filepath.Join(dir, "a")), 0)
	env = append(env, "WEIR_KAFKA_BROKERS="+addr)
	process := func(name string) []string {
		own := append(slices.Clone(env), "WEIR_INSTANCE="+name, "WEIR_DATA_DIR="+filepath.Join(dir, name))
		return []string{server(t, own, "pacing"), "WEIR_DATA_DIR=" + filepath.Join(dir, "command")}
	}
	asked := process("a")
	process("b")
	owners := func(done func(owners string) bool) (list []map[string]any) {
		return rows(t, asked, func(list []map[string]any) bool {
			text := ""
			for _, r := range list {
				text += fmt.Sprint(r["owner"])
			}
			return done(text)
		}, "pacing", "status")
	}
	shared := func(owners string) bool { return owners == "ab" || owners == "ba" }
	owners(shared)
	shard := []string{"pacing", "override", "shard"}
	expect(t, asked, cli.ExitFailed, `no process "c" paces accounts now: use one of a, b`, append(shard, "0", "--leader", "c", "--for", "1m")...)
	expect(t, asked, cli.ExitUsage, "an override needs a leader and a time", append(shard, "0", "--leader", "b")...)
	expect(t, asked, cli.ExitUsage, "shard 2 does not exist: use 0 to 1", append(shard, "2", "--leader", "b", "--for", "1m")...)
	expect(t, asked, cli.ExitFailed, "there is nothing to withdraw", append(shard, "0", "--withdraw")...)
	writer := []string{"pacing", "override", "writer"}
	expect(t, asked, cli.ExitFailed, `do not serve the parameters of "us": use one of local`, append(writer, "us", "--for", "1m")...)
	expect(t, asked, cli.ExitFailed, "there is nothing to withdraw", append(writer, "--withdraw")...)
	expect(t, asked, cli.ExitUsage, "needs a datacentre and a time", append(writer, "us")...)
	expect(t, asked, cli.ExitUsage, "--for 25h0m0s is out of range", append(writer, "us", "--for", "25h")...)
	for _, n := range []string{"0", "1"} {
		expect(t, asked, 0, "a test", append(shard, n, "--leader", "b", "--for", "1h", "--why", "a test")...)
	}
	expect(t, asked, 0, "a test", "pacing", "override", "list")
	list := owners(func(owners string) bool { return owners == "bb" })
	for _, r := range list {
		if r["override_leader"] != "b" || r["override_until"] == "" {
			t.Errorf("%v", r)
		}
	}
	expect(t, asked, 0, `"leader": "b"`, append(shard, "0", "--withdraw", "-o", "json")...)
	owners(shared)
	rows(t, asked, func(list []map[string]any) bool { return len(list) == 1 && list[0]["shard"] == 1.0 }, "pacing", "override", "list")
}
