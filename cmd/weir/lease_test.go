package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A day of an administrator: each command does what it says, and refuses what cannot be.
func TestLeaseCommands(t *testing.T) {
	env := DynamoDB(t)
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
		{"client create c", exitConfig, "", "weir table plan"},
		{"table plan", exitOK, "create table weir-leases", ""},
		{"table apply", exitOK, "", "add a replica in us"},
		{"table plan", exitOK, "", "as it must be"},
		{"table policy --role agent --account 123", exitOK, `"arn:aws:dynamodb:*:123:table/weir-leases"`, ""},
		{"table policy --role nobody", exitUsage, "", "no role is called"},
		{"region create eu", exitOK, "eu", ""},
		{"region create us", exitOK, "us", ""},
		{"region create ap", exitUsage, "", "not one of the configured regions"},
		{"client create c --description first", exitOK, "first", ""},
		{"client create c", exitFailed, "", "it is there already"},
		{"client update c --description second", exitOK, "second", ""},
		{"pool create p --client c --longest-lease 20m", exitOK, "20m0s", ""},
		{"pool update p --client c --quarantine 4s", exitOK, "20m0s", ""},
		{"pool update p --client c --quarantine 100ms", exitUsage, "", "shorter than clocks may be off"},
		{"pool get p --client c -o json", exitOK, `"quarantine": "4s"`, ""},
		{"pool update p --client c --floor eu=2,us=3 --duplicates release --forecast holt -o json", exitOK, `"us": 3`, ""},
		{"pool update p --client c --floor eu=2,eu=3", exitUsage, "", "region=number"},
		{"pool update p --client c --floor ap=1", exitUsage, "", "floor for ap"},
		{"pool update p --client c --balance maybe", exitUsage, "", "on, off"},
		{"pool update p --client c --floor none --duplicates supersede -o json", exitOK, `"forecast": "holt"`, ""},
		{"region update us --swing-to eu --swing-percent 30 --region-lease 5m -o json", exitOK, `"swing_percent": 30`, ""},
		{"region update us --swing-to us", exitUsage, "", "another region"},
		{"region update us --swing-to= --swing-percent 0 -o wide", exitOK, "5m0s", ""},
		{"region evacuate us --dry-run", exitOK, "", "would be evacuating"},
		{"region evacuate us", exitOK, "evacuating", ""},
		{"region evacuate us --undo", exitOK, "active", ""},
		{"region adopt us", exitUsage, "", "--by"},
		{"region adopt us --by us", exitUsage, "", "its own"},
		{"region adopt eu --by us", exitConfig, "", "weir region home us --dead-since TIME"},
		{"region home -o json", exitOK, `"agrees": true`, ""},
		{"region home -o json --home us", exitOK, `"home": "eu"`, "set leases.home to eu everywhere: here it is us"},
		{"region home mars", exitUsage, "", "none of the configured regions"},
		{"region home --home mars", exitConfig, "", "leases.home"},
		{"region home --dead-since 2020-01-31T12:00:00Z", exitUsage, "", "name it"},
		{"client create d --home us", exitConfig, "", "set leases.home to eu"},
		{"region adopt us --by eu --dead-since yesterday", exitUsage, "", "2026-01-31T12:00:00Z"},
		{"pool import " + pools + " --dry-run", exitOK, "", "would be created (dry run)"},
		{"pool import " + pools, exitOK, "", "created"},
		{"pool import " + pools, exitOK, "", "unchanged"},
		{"pool import " + wrong, exitData, "", "longest_leese"},
		{"pool list --client c", exitOK, "q", ""},
		{"resource create r1 r2 r3 --client c --pool p --region eu", exitOK, "available", ""},
		{"resource create r1 r9 --client c --pool p --region us", exitFailed, "r9", "there already"},
		{"resource create x --client c --pool none", exitFailed, "", `pool "none"`},
		{"resource import " + names + " --client c --pool p --region eu -o json", exitOK, `"created":2`, ""},
		{"resource import " + names + " --client c --pool p --region eu -o json", exitOK, `"before":4`, ""},
		{"resource delete r3 --client c --dry-run", exitOK, "available", "nothing is changed"},
		{"resource delete r3 --client c", exitOK, "retired", ""},
		{"resource list --client c --state retired", exitOK, "r3", ""},
		{"resource list --client c --state odd", exitUsage, "", "--state"},
		{"resource update r3 --client c --revive", exitOK, "available", ""},
		{"resource update r3 --client c --pool q", exitOK, "q", ""},
		{"resource update r3 --client c", exitUsage, "", "--pool or --revive"},
		{"resource get r3 none --client c", exitFailed, "r3", `"none"`},
		{"lease get --client c --pool p --key k --region eu --for 1h", exitOK, "true", ""},
		{"lease get --client c --pool p --key k --region eu -o json", exitOK, `"new": false`, ""},
		{"lease get --client c --pool p --key k --region nowhere", exitConfig, "", "leases.region"},
		{"lease get --client c --pool p --key k --for 1s", exitUsage, "", "skew"},
		{"lease get --client d --pool p --key k", exitFailed, "", "weir client create"},
		{"lease headroom --client c --pool p -o jsonl", exitOK, `"region":"eu","free":3`, ""},
		{"lease show --client c --pool p --key k", exitOK, "yes, until", ""},
		{"lease show --client c --pool p --key none", exitOK, "", "never had a lease"},
		{"lease list --client c", exitOK, "k", ""},
		{"lease history --client c --pool p --key k", exitOK, "has r", "read the streams of DynamoDB, which have 24 hours: no broker has lease.changes"},
		{"lease history --client c --pool p --key k --from kafka", exitUnavailable, "", "--from streams"},
		{"lease history --client c --pool p --key k --from paper", exitUsage, "", "kafka, streams or auto"},
		{"lease history --client c", exitUsage, "", "--resource"},
		{"lease release --client c --pool p --key k --dry-run", exitOK, "", "would be given back"},
		{"lease release --client c --pool p --key k", exitOK, "", "given back"},
		{"lease release --client c --pool p --key k", exitFailed, "", "has none"},
		{"lease get --client c --pool q --key only", exitOK, "r3", ""},
		{"lease get --client c --pool q --key another", exitLater, "", "resource import"},
		{"resource list --client c --state leased", exitOK, "only", ""},
		{"lease list --client c --key only --limit 1", exitOK, "r3", ""},
		{"client delete c", exitFailed, "", "delete them first"},
		{"pool delete p --client c", exitFailed, "", "retire them first"},
	} {
		got := Run(t, leaseCommands, env, strings.Fields(step.line)...)
		if got.Code != step.code || !strings.Contains(got.Stdout, step.out) || !strings.Contains(got.Stderr, step.errout) {
			t.Errorf("weir %s: %d, want %d\nstdout, to have %q:\n%s\nstderr, to have %q:\n%s", step.line, got.Code, step.code, step.out, got.Stdout, step.errout, got.Stderr)
		}
	}
	var list []struct{ Resource string }
	all := Run(t, leaseCommands, env, strings.Fields("resource list --client c -o json")...)
	if err := json.Unmarshal([]byte(all.Stdout), &list); err != nil || len(list) != 6 || list[0].Resource != "r1" {
		t.Errorf("%v, %+v", err, list)
	}
}

// The home is lost: another becomes it, and adopts what it had.
func TestRegionHome(t *testing.T) {
	env := DynamoDB(t)
	dead := time.Now().Add(-5 * time.Second).UTC().Format(time.RFC3339)
	for _, step := range []struct {
		line   string
		code   int
		out    string
		errout string
	}{
		{"table apply", exitOK, "", ""},
		{"region home", exitOK, "", "no row says yet"},
		{"region create eu", exitOK, "eu", ""},
		{"region create us", exitOK, "us", ""},
		{"client create c", exitOK, "c", ""},
		{"pool create p --client c", exitOK, "p", ""},
		{"resource create r1 r2 --client c --pool p --region eu", exitOK, "r2", ""},
		{"region home us --dead-since soon", exitUsage, "", "2026-01-31T12:00:00Z"},
		{"region home us --dead-since " + dead + " -o json", exitOK, `"home": "us"`, "set leases.home to us everywhere"},
		{"client create d", exitConfig, "", "set leases.home to us"},
		{"client create d --home us", exitOK, "d", ""},
		{"region adopt eu --by us", exitConfig, "", "weir region home us"},
		{"region adopt eu --by us --home us", exitUsage, "", "no region lease"},
		{"region adopt eu --by us --home us --dead-since " + dead + " -o json", exitOK, `"adopted": 2`, ""},
		{"region list --home us", exitOK, "adopted", ""},
		{"region home -o json --home us", exitOK, `"agrees": true`, ""},
	} {
		got := Run(t, leaseCommands, env, strings.Fields(step.line)...)
		if got.Code != step.code || !strings.Contains(got.Stdout, step.out) || !strings.Contains(got.Stderr, step.errout) {
			t.Errorf("weir %s: %d, want %d\nstdout, to have %q:\n%s\nstderr, to have %q:\n%s", step.line, got.Code, step.code, step.out, got.Stdout, step.errout, got.Stderr)
		}
	}
}

// A region that does not answer is in all lists, with the reason; the others are shown as they are.
func TestSilentRegion(t *testing.T) {
	env := DynamoDB(t)
	run := func(line string, env []string) Result {
		t.Helper()
		return Run(t, leaseCommands, env, strings.Fields(line)...)
	}
	for _, line := range []string{
		"table apply", "region create eu", "region create us", "client create c", "pool create p --client c", "resource create r1 --client c --pool p --region us",
		"lease get --client c --pool p --key k --region us",
	} {
		if got := run(line, env); got.Code != exitOK {
			t.Fatalf("weir %s: %s", line, got.Stderr)
		}
	}
	nowhere := Listen(t)
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
		{"region list", exitOK, []string{"eu", "us", "does not answer"}, "this is what us knows"},
		{"region get us", exitOK, []string{"active"}, "this is what us knows"},
		{"pool list --client c", exitOK, []string{"p"}, "this is what us knows"},
		{"resource list --client c", exitOK, []string{"r1"}, "this is what us knows"},
		{"lease list --client c", exitOK, []string{"r1"}, "this is what us knows"},
		{"lease show --client c --pool p --key k", exitOK, []string{"does not answer", "yes, until"}, ""},
		{"lease headroom --client c --pool p", exitUnavailable, []string{"eu", "us", "does not answer"}, ""},
		{"region home", exitOK, []string{"does not answer"}, ""},
		{"region home us", exitUnavailable, nil, "--dead-since"},
		{"client create d", exitUnavailable, nil, ""},
	} {
		got := run(step.line, env)
		for _, want := range step.out {
			if !strings.Contains(got.Stdout, want) {
				t.Errorf("weir %s: no %q in:\n%s", step.line, want, got.Stdout)
			}
		}
		if got.Code != step.code || !strings.Contains(got.Stderr, step.errout) {
			t.Errorf("weir %s: %d, want %d\n%s\nto have %q:\n%s", step.line, got.Code, step.code, got.Stdout, step.errout, got.Stderr)
		}
	}
}
