package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// TestArguments: a command names the argument that is missing, or that it does not expect.
func TestArguments(t *testing.T) {
	for line, want := range map[string]string{
		"ingest --format jsonl":     "the argument FILE|- is missing\n  do:  write `weir ingest FILE|- --format",
		"pool create":               "the argument NAME is missing",
		"pool create a b":           `"b" is not expected: ` + "`weir pool create` takes NAME",
		"resource get":              "the argument NAME... is missing",
		"bridge scan":               "the argument REGION... is missing",
		"state get --table t":       "the argument KEY is missing",
		"dlq show":                  "the argument ORIGIN is missing",
		"partition skip --to 3":     "the argument TOPIC/PARTITION is missing",
		"region home a b":           `"b" is not expected: ` + "`weir region home` takes [NEW]",
		"region adopt --by eu":      "the argument NAME is missing",
		"lag spendcounter":          `"spendcounter" is not expected: ` + "`weir lag` takes flags and no arguments",
		"spend show --campaign c x": `"x" is not expected: ` + "`weir spend show` takes flags and no arguments",
	} {
		expect(t, nil, cli.ExitUsage, want, strings.Fields(line)...)
	}
}

// TestErrorsNameSettings: errors of a command name its flags and settings, and no field of a Go
// type and no function.
func TestErrorsNameSettings(t *testing.T) {
	fields := regexp.MustCompile(`Config\.[A-Z]|call [A-Z]|set [A-Z][a-z]+[A-Z]|accepts [0-9] arg`)
	taken := clitest.Listen(t)
	t.Cleanup(func() { _ = taken.Close() })
	env := []string{"WEIR_DATA_DIR=" + t.TempDir(), "WEIR_KAFKA_BROKERS=127.0.0.1:1"}
	for line, want := range map[string]string{
		"run --ops-listen 127.0.0.1:0 --listen " + taken.Addr().String(): "--listen and --ops-listen",
		"balancer backtest --stock 1000":                                 "--stock",
		"replay --app check --promote":                                   "begin it first",
		"balancer backtest --days -1":                                    "",
		"ingest":                                                         "FILE",
	} {
		r := weir(t, env, strings.Fields(line)...)
		if r.Code == cli.ExitOK || !strings.Contains(r.Stderr, want) || fields.MatchString(r.Stderr) {
			t.Errorf("weir %s: code %d, want %q, and no Go names:\n%s", line, r.Code, want, r.Stderr)
		}
	}
}

// TestDoctorGroups: a check that was not made does not count as passed.
func TestDoctorGroups(t *testing.T) {
	env := []string{"WEIR_DATA_DIR=" + t.TempDir(), "WEIR_KAFKA_BROKERS=127.0.0.1:1"}
	r := weir(t, env, "doctor")
	if strings.Contains(r.Stdout, "leases") || !strings.Contains(r.Stderr, "leases: not checked; `weir doctor --for leases` checks them") {
		t.Errorf("%+v", r)
	}
}
