package lease

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// Each command succeeds, or fails with its exit code and remedy.
func TestLeaseCommands(t *testing.T) {
	env := clitest.DynamoDB(t)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	pools := file("pools.jsonl", `{"client":"c","pool":"q","longest_lease":"5m","quarantine":"3s","sub_partitions":3}`+"\n")
	wrong := file("wrong.json", `[{"client":"c","pool":"q","longest_leese":"5m"}]`)
	names := file("names.txt", "r4\nr5\n\nr4\n")
	for _, step := range []struct {
		line   string
		code   int
		out    string // in stdout
		errout string // in stderr
	}{
		{"client create c", cli.ExitConfig, "", "weir table plan"},
		{"table plan", cli.ExitOK, "create table weir-leases", ""},
		{"table apply", cli.ExitOK, "", "add a replica in us"},
		{"table plan", cli.ExitOK, "", "needs no change"},
		{"table policy --role agent --account 123", cli.ExitOK, `"arn:aws:dynamodb:*:123:table/weir-leases"`, ""},
		{"table policy --role nobody", cli.ExitUsage, "", "no role is called"},
		{"region create eu", cli.ExitOK, "eu", ""},
		{"region create us", cli.ExitOK, "us", ""},
		{"region create ap", cli.ExitUsage, "", "not one of the configured regions"},
		{"client create c --description first", cli.ExitOK, "first", ""},
		{"client create c", cli.ExitFailed, "", "already exists"},
		{"client update c --description second", cli.ExitOK, "second", ""},
		{"pool create p --client c --longest-lease 20m", cli.ExitOK, "forecast:         auto", ""},
		{"pool create slow --client c --quarantine 1000h --floor eu=7", cli.ExitOK, "eu:7", "the quarantine, 1000h0m0s, is longer than the longest lease, 1h0m0s"},
		{"pool update slow --client c --longest-lease 2000h", cli.ExitOK, "2000h0m0s", ""},
		{"pool delete slow --client c", cli.ExitOK, "", "deleted"},
		{"pool update p --client c --quarantine 4s", cli.ExitOK, "20m0s", ""},
		{"pool update p --client c --quarantine 100ms", cli.ExitUsage, "", "shorter than the clock skew"},
		{"pool get p --client c -o json", cli.ExitOK, `"quarantine": "4s"`, ""},
		{"pool update p --client c --floor eu=2,us=3 --duplicates release --forecast holt -o json", cli.ExitOK, `"us": 3`, ""},
		{"pool update p --client c --floor eu=2,eu=3", cli.ExitUsage, "", "REGION=NUMBER"},
		{"pool update p --client c --floor ap=1", cli.ExitUsage, "", "floor for ap"},
		{"pool update p --client c --balance maybe", cli.ExitUsage, "", "on, off"},
		{"pool update p --client c --floor none --duplicates supersede -o json", cli.ExitOK, `"forecast": "holt"`, ""},
		{"region update us --swing-to eu --swing-percent 30 --write-lease 5m -o json", cli.ExitOK, `"swing_percent": 30`, ""},
		{"region update us --swing-to us", cli.ExitUsage, "", "another region"},
		{"region update us --swing-to= --swing-percent 0", cli.ExitOK, "5m0s", ""},
		{"region evacuate us --dry-run", cli.ExitOK, "", "would be evacuating"},
		{"region evacuate us", cli.ExitOK, "evacuating", ""},
		{"region evacuate us --undo", cli.ExitOK, "active", ""},
		{"region adopt us", cli.ExitUsage, "", "--by"},
		{"region adopt us --by us", cli.ExitUsage, "", "its own"},
		{"region adopt eu --by us", cli.ExitConfig, "", "weir region home NEW --dead-since TIME"},
		{"region home -o json", cli.ExitOK, `"agrees": true`, ""},
		{"region home -o json --home us", cli.ExitOK, `"home": "eu"`, "set leases.home to eu in all processes: here it is us"},
		{"region home mars", cli.ExitUsage, "", "not one of the configured regions"},
		{"region home --home mars", cli.ExitConfig, "", "leases.home"},
		{"region home --dead-since 2020-01-31T12:00:00Z", cli.ExitUsage, "", "name it"},
		{"client create d --home us", cli.ExitConfig, "", "set leases.home to eu"},
		{"region adopt us --by eu --dead-since yesterday", cli.ExitUsage, "", "2026-01-31T12:00:00Z"},
		{"pool import " + pools + " --dry-run", cli.ExitOK, "", "would be created (dry run)"},
		{"pool import " + pools, cli.ExitOK, "", "created"},
		{"pool import " + pools, cli.ExitOK, "", "unchanged"},
		{"pool import " + wrong, cli.ExitData, "", "longest_leese"},
		{"pool list --client c", cli.ExitOK, "q", ""},
		{"resource create r1 r2 r3 --client c --pool p --region eu", cli.ExitOK, "available", ""},
		{"resource create r1 r9 --client c --pool p --region us", cli.ExitFailed, "r9", "already exists"},
		{"resource create x --client c --pool none", cli.ExitFailed, "", `pool "none"`},
		{"resource import " + names + " --client c --pool p --region eu -o json", cli.ExitOK, `"created":2`, ""},
		{"resource import " + names + " --client c --pool p --region eu -o json", cli.ExitOK, `"before":4`, ""},
		{"resource import " + names + " --client c --pool p --max-outage 0s", cli.ExitUsage, "", "--max-outage"},
		{"resource delete r3 --client c --dry-run", cli.ExitOK, "available", "nothing is changed"},
		{"resource delete r3 --client c", cli.ExitOK, "retired", ""},
		{"resource list --client c --state retired", cli.ExitOK, "r3", ""},
		{"resource list --client c --state odd", cli.ExitUsage, "", "--state"},
		{"resource update r3 --client c --revive", cli.ExitOK, "available", ""},
		{"resource update r3 --client c --pool q", cli.ExitOK, "q", ""},
		{"resource update r3 --client c", cli.ExitUsage, "", "--pool or --revive"},
		{"resource get r3 none --client c", cli.ExitFailed, "r3", `"none"`},
		{"lease get --client c --pool p --key k --region eu --for 1h", cli.ExitOK, "true", ""},
		{"lease get --client c --pool p --key k --region eu -o json", cli.ExitOK, `"new": false`, ""},
		{"lease get --client c --pool p --key k --region nowhere", cli.ExitConfig, "", "leases.region"},
		{"lease get --client c --pool p --key k --for 1s", cli.ExitUsage, "", "skew"},
		{"lease get --client d --pool p --key k", cli.ExitFailed, "", "weir client create"},
		{"lease headroom --client c --pool p -o jsonl", cli.ExitOK, `"region":"eu","free":3`, ""},
		{"lease show --client c --pool p --key k", cli.ExitOK, "yes, until", ""},
		{"lease show --client c --pool p --key none", cli.ExitOK, "", "never had a lease"},
		{"lease list --client c", cli.ExitOK, "k", ""},
		{"lease history --client c --pool p --key k", cli.ExitOK, "has r", "read the streams of DynamoDB, which keep 24 hours: topic lease.changes of Kafka cannot be read: "},
		{"lease history --client c --pool p --key k --from kafka", cli.ExitUnavailable, "", "--from streams"},
		{"lease history --client c --pool p --key k --from paper", cli.ExitUsage, "", "kafka, streams or auto"},
		{"lease history --client c", cli.ExitUsage, "", "--resource"},
		{"lease release --client c --pool p --key k --region us", cli.ExitFailed, "", "has no lease in us"},
		{"lease release --client c --pool p --key k --region eu --dry-run", cli.ExitOK, "", "of eu until"},
		{"lease release --client c --pool p --key k --dry-run", cli.ExitOK, "", "would be released (dry run)"},
		{"lease release --client c --pool p --key k", cli.ExitOK, "", "released"},
		{"lease release --client c --pool p --key k", cli.ExitFailed, "", "has no lease"},
		{"lease get --client c --pool q --key only", cli.ExitOK, "r3", ""},
		{"lease get --client c --pool q --key another", cli.ExitTempFail, "", "resource import"},
		{"resource list --client c --state leased", cli.ExitOK, "only", ""},
		{"lease list --client c --key only --limit 1", cli.ExitOK, "r3", ""},
		{"client delete c", cli.ExitFailed, "", "delete the pools first"},
		{"pool delete p --client c", cli.ExitFailed, "", "retire them first"},
	} {
		got := clitest.Run(t, Commands, env, strings.Fields(step.line)...)
		if got.Code != step.code || !strings.Contains(got.Stdout, step.out) || !strings.Contains(got.Stderr, step.errout) {
			t.Errorf("weir %s: %d, want %d\nstdout, want %q:\n%s\nstderr, want %q:\n%s", step.line, got.Code, step.code, step.out, got.Stdout, step.errout, got.Stderr)
		}
	}
	var list []struct{ Resource string }
	all := clitest.Run(t, Commands, env, strings.Fields("resource list --client c -o json")...)
	if err := json.Unmarshal([]byte(all.Stdout), &list); err != nil || len(list) != 6 || list[0].Resource != "r1" {
		t.Errorf("%v, %+v", err, list)
	}
}

// The home region is lost: another region becomes the home and adopts the resources.
func TestRegionHome(t *testing.T) {
	env := clitest.DynamoDB(t)
	since := time.Now().Add(-5 * time.Second).Truncate(time.Second).UTC()
	dead := since.Format(time.RFC3339)
	offered := func(longest time.Duration) string { return since.Add(longest + 10*time.Second).Format(time.RFC3339) }
	for _, step := range []struct {
		line   string
		code   int
		out    string
		errout string
	}{
		{"table apply", cli.ExitOK, "", ""},
		{"region home", cli.ExitOK, "", "no row names the home region yet"},
		{"region create eu", cli.ExitOK, "eu", ""},
		{"region create us", cli.ExitOK, "us", ""},
		{"client create c", cli.ExitOK, "c", ""},
		{"pool create p --client c", cli.ExitOK, "p", ""},
		{"pool create short --client c --longest-lease 1m", cli.ExitOK, "short", ""},
		{"resource create r1 r2 --client c --pool p --region eu", cli.ExitOK, "r2", ""},
		{"resource create s1 --client c --pool short --region eu", cli.ExitOK, "s1", ""},
		{"region home us --dead-since soon", cli.ExitUsage, "", "2026-01-31T12:00:00Z"},
		{"region home us --dead-since " + dead + " -o json", cli.ExitOK, `"home": "us"`, "set leases.home to us in all processes"},
		{"client create d", cli.ExitConfig, "", "set leases.home to us"},
		{"client create d --home us", cli.ExitOK, "d", ""},
		{"region adopt eu --by us", cli.ExitConfig, "", "weir region home"},
		{"region adopt eu --by us --home us", cli.ExitUsage, "", "no write lease"},
		{"region adopt eu --by us --home us --dead-since " + dead, cli.ExitOK, "short   " + offered(time.Minute), "repeat the command with --yes"},
		{"region list --home us -o json", cli.ExitOK, `"adopted_by": ""`, ""},
		{"region adopt eu --by us --home us --dead-since " + dead + " --yes", cli.ExitOK, "p             2   " + offered(time.Hour), ""},
		{"region adopt eu --by us --home us --dead-since " + dead + " --yes -o json", cli.ExitOK, `"adopted": 0`, ""},
		{"region list --home us", cli.ExitOK, "adopted", ""},
		{"region home -o json --home us", cli.ExitOK, `"agrees": true`, ""},
	} {
		got := clitest.Run(t, Commands, env, strings.Fields(step.line)...)
		if got.Code != step.code || !strings.Contains(got.Stdout, step.out) || !strings.Contains(got.Stderr, step.errout) {
			t.Errorf("weir %s: %d, want %d\nstdout, want %q:\n%s\nstderr, want %q:\n%s", step.line, got.Code, step.code, step.out, got.Stdout, step.errout, got.Stderr)
		}
	}
}

// A region that does not answer is in all lists with the reason. The other regions are shown.
func TestSilentRegion(t *testing.T) {
	env := clitest.DynamoDB(t)
	run := func(line string, env []string) clitest.Result {
		t.Helper()
		return clitest.Run(t, Commands, env, strings.Fields(line)...)
	}
	for _, line := range []string{
		"table apply", "region create eu", "region create us", "client create c", "pool create p --client c", "resource create r1 --client c --pool p --region us",
		"lease get --client c --pool p --key k --region us",
	} {
		if got := run(line, env); got.Code != cli.ExitOK {
			t.Fatalf("weir %s: %s", line, got.Stderr)
		}
	}
	nowhere := clitest.Listen(t)
	nowhere.Close()
	_, us, _ := strings.Cut(env[0], ",")
	env = append([]string{"WEIR_LEASES_REGIONS=eu=http://" + nowhere.Addr().String() + "," + us}, env[1:]...)
	env = append(env, "WEIR_LEASES_TIMEOUT=1s")
	for _, step := range []struct {
		line   string
		code   int
		out    []string
		errout string
	}{
		{"region list", cli.ExitOK, []string{"eu", "us", "does not answer"}, "this is the copy of us"},
		{"region get us", cli.ExitOK, []string{"active"}, "this is the copy of us"},
		{"pool list --client c", cli.ExitOK, []string{"p"}, "this is the copy of us"},
		{"resource list --client c", cli.ExitOK, []string{"r1"}, "this is the copy of us"},
		{"lease list --client c", cli.ExitOK, []string{"r1"}, "this is the copy of us"},
		{"lease show --client c --pool p --key k", cli.ExitOK, []string{"does not answer", "yes, until"}, ""},
		{"lease headroom --client c --pool p", cli.ExitUnavailable, []string{"eu", "us", "does not answer"}, ""},
		{"region home", cli.ExitOK, []string{"does not answer"}, ""},
		{"region home us", cli.ExitUnavailable, nil, "--dead-since"},
		{"client create d", cli.ExitUnavailable, nil, ""},
	} {
		got := run(step.line, env)
		for _, want := range step.out {
			if !strings.Contains(got.Stdout, want) {
				t.Errorf("weir %s: no %q in:\n%s", step.line, want, got.Stdout)
			}
		}
		if got.Code != step.code || !strings.Contains(got.Stderr, step.errout) {
			t.Errorf("weir %s: %d, want %d\n%s\nwant %q:\n%s", step.line, got.Code, step.code, got.Stdout, step.errout, got.Stderr)
		}
	}
}
