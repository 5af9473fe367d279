package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// weir runs a command of the program in the process of the test.
func weir(t *testing.T, environ []string, args ...string) clitest.Result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), cli.Process{Args: args, Environ: environ, Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr})
	return clitest.Result{Code: code, Stdout: stdout.String(), Stderr: stderr.String()}
}

func TestCommandLineErrors(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		code int
		want []string // in stderr
	}{
		{"command", []string{"cnfig"}, 64, []string{`has no command "cnfig"`, "did you mean `weir config`?"}},
		{"command of a group", []string{"config", "prnt"}, 64, []string{"did you mean `weir config print`?"}},
		{"command unlike any of a group", []string{"spend", "zzzzzz"}, 64, []string{"are: account, audit, billed, datasets, health, list, reconcile, show, top"}},
		{"no list", []string{"spend", "show", "--campaign", "c", "-o", "csv"}, 64, []string{"not a list", "-o json"}},
		{"number", []string{"spend", "top", "-n", "101"}, 64, []string{"use 1 to 100", "weir spend list"}},
		{"command unlike any", []string{"zzzzzz"}, 64, []string{"`weir --help` lists the commands"}},
		{"flag", []string{"version", "--ouptut", "json"}, 64, []string{"--ouptut", "did you mean --output?"}},
		{"short flag", []string{"version", "-x"}, 64, []string{"-x", "`weir version --help` lists the flags"}},
		{"format", []string{"version", "-o", "jsn"}, 64, []string{"did you mean json?"}},
		{"format unlike any", []string{"version", "-o", "picture"}, 64, []string{"one of table, wide, json, yaml, jsonl, csv"}},
		{"extra argument", []string{"version", "now"}, 64, []string{`"now"`, "`weir version --help`"}},
		{"flag without value", []string{"version", "-o"}, 64, []string{"--output has no value", "write --output VALUE"}},
		{"one flag is missing", []string{"spend", "show"}, 64, []string{"--campaign is missing", "add --campaign"}},
		{"flags are missing", []string{"lease", "get", "--key", "k"}, 64, []string{"--client and --pool are missing"}},
		{"flags that exclude each other", []string{"lag", "--app", "a", "--group", "g"}, 64, []string{"--app and --group exclude each other"}},
		{"flag that is not a number", []string{"spend", "top", "-n", "many"}, 64, []string{`-n, --number "many" is not a whole number`}},
		{"flag that is too large", []string{"spend", "top", "-n", "99999999999999999999"}, 64, []string{"is out of range"}},
		{"flag that is not a fraction", []string{"bench", "latency", "--share", "half"}, 64, []string{`--share "half" is not a number`}},
		{"flag without a unit", []string{"status", "--since", "5"}, 64, []string{`--since "5" is not a duration`, "30s"}},
		{"flag that is neither", []string{"dev", "--no-load=perhaps"}, 64, []string{`--no-load "perhaps" is neither true nor false`}},
		{"flag with a type of its own", []string{"pool", "create", "p", "--floor", "x"}, 64, []string{`--floor: "x" is not REGION=NUMBER`}},
		{"day", []string{"spend", "show", "--campaign", "c", "--day", "foo"}, 64, []string{`--day "foo" is not a date`, "YYYY-MM-DD"}},
		{"days", []string{"spend", "list", "--account", "a", "--from", "2026-02-02", "--to", "2026-01-01"}, 64, []string{"exchange the two days"}},
		{"first day", []string{"spend", "top", "--from", "2026-02-30"}, 64, []string{`--from "2026-02-30" is not a date`}},
		{"day of a refund", []string{"adjust", "create", "--reference", "r", "--campaign", "c", "--day", "foo", "--amount", "1", "--account", "a", "--currency", "USD", "--serving-dc", "eu"}, 64, []string{`--day "foo" is not a date`}},
		{"sum", []string{"spend", "list", "--account", "a", "--by", "month"}, 64, []string{`--by "month" does not exist`, "line-item or arm"}},
		{"order", []string{"spend", "top", "--by", "price"}, 64, []string{`--by "price" does not exist`, "use charged or events"}},
		{"staleness", []string{"state", "hash", "--max-staleness", "-5s"}, 64, []string{"--max-staleness -5s is out of range"}},
		{"prefix and range", []string{"state", "scan", "--table", "spend", "--prefix", "a", "--end", "b"}, 64, []string{"--prefix cannot be combined with --start and --end"}},
		{"first generation", []string{"repartition"}, 64, []string{"no earlier one has state to move", "spend.generation: 2"}},
		{"same generation", []string{"repartition", "--from", "1"}, 64, []string{"--from and spend.generation are both 1"}},
		{"name of a replay", []string{"replay", "--app", "a b"}, 64, []string{`--app "a b" is not a legal name`}},
		{"benchmark without events", []string{"bench", "spend", "--events", "0"}, 64, []string{"--events 0 is out of range", "use 1 or more"}},
		{"batch above the maximum", []string{"bench", "jobs", "--batch", "1001"}, 64, []string{"--batch 1001 is out of range", "use 1 to 1000"}},
		{"payload without room for a time", []string{"bench", "jobs", "--payload", "7"}, 64, []string{"--payload 7 is out of range"}},
		{"benchmark above the sustainable rate", []string{"bench", "latency", "--share", "2"}, 64, []string{"--share 2 is out of range"}},
		{"region of the emulator", []string{"dynamodb", "--regions", "a b"}, 64, []string{`--regions: "a b" is not the name of a region`}},
		{"region of the emulator, twice", []string{"dynamodb", "--regions", "eu,eu"}, 64, []string{"names eu twice"}},
		{"rate of the backtest", []string{"balancer", "backtest", "--rate", "-1"}, 64, []string{"--rate -1 is out of range"}},
		{"host with a blank", []string{"tls", "create", "--host", "a b"}, 64, []string{`--host "a b" is not a host name or an IP address`}},
		{"host with a port", []string{"tls", "create", "--host", "a:8080"}, 64, []string{`--host "a:8080"`, "without a port"}},
		{"empty host", []string{"tls", "create", "--host", "a,"}, 64, []string{`--host ""`}},
		{"configuration", []string{"config", "check", "--brokers", "nowhere"}, 78, []string{`--brokers: kafka.brokers: "nowhere" is not allowed`}},
		{"no such file", []string{"config", "print", "-f", "/no/such/weir.yaml"}, 78, []string{"/no/such/weir.yaml: cannot read the configuration"}},
		{"port", []string{"dev", "--kafka-port", "99999"}, 64, []string{"--kafka-port 99999 is not a port", "65535"}},
		{"directory", []string{"ingest", "/", "--format", "csv"}, 74, []string{"/: is a directory", "check the path"}},
		{"log level", []string{"config", "print", "--log-level", "inof"}, 78, []string{`did you mean "info"?`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := weir(t, nil, tc.args...)
			if r.Code != tc.code || r.Stdout != "" {
				t.Errorf("code %d, want %d; stdout %q", r.Code, tc.code, r.Stdout)
			}
			for _, w := range append(tc.want, "weir: ", "\n  why: ", "\n  do:  ") {
				if !strings.Contains(r.Stderr, w) {
					t.Errorf("stderr has no %q:\n%s", w, r.Stderr)
				}
			}
			if strings.Contains(r.Stderr, "\x1b") {
				t.Errorf("colours without a terminal: %q", r.Stderr)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"config"}, {"help", "config"}} {
		r := weir(t, nil, args...)
		if r.Code != 0 || !strings.Contains(r.Stdout, "Usage:") || r.Stderr != "" {
			t.Errorf("%q: code %d, stderr %q, stdout:\n%s", args, r.Code, r.Stderr, r.Stdout)
		}
	}
}

// Every command has a help text: Short is one line without a full stop and begins with a verb in
// the imperative ("Show", not "Shows"), Long has lines of at most 100 columns. A backtick in the
// help of a flag would be taken for the name of its value.
func TestEveryCommandIsDescribed(t *testing.T) {
	a := cli.NewApp(cli.Process{Stdout: io.Discard, Stderr: io.Discard})
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || c.Run != nil || c.RunE == nil && !c.HasSubCommands() {
			t.Errorf("%s: needs Short, and RunE in place of Run", c.CommandPath())
		}
		if verb, _, _ := strings.Cut(c.Short, " "); c.HasParent() && strings.HasSuffix(strings.TrimSuffix(verb, ","), "s") {
			t.Errorf("%s: Short begins with %q, which is not an imperative", c.CommandPath(), verb)
		}
		for line := range strings.SplitSeq(c.Long, "\n") {
			if utf8.RuneCountInString(line) > 100 {
				t.Errorf("%s: a line of the help is longer than 100 columns: %s", c.CommandPath(), line)
			}
		}
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || strings.Contains(f.Usage, "`") {
				t.Errorf("%s: the help of --%s is %q", c.CommandPath(), f.Name, f.Usage)
			}
		})
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(newRoot(a))
}

func TestVersion(t *testing.T) {
	r := weir(t, nil, "version", "-o", "json")
	var v map[string]any
	if err := json.Unmarshal([]byte(r.Stdout), &v); err != nil || r.Code != 0 {
		t.Fatalf("code %d, %v in %s", r.Code, err, r.Stdout)
	}
	for _, key := range []string{"version", "commit", "modified", "time", "go", "platform"} {
		if _, ok := v[key]; !ok {
			t.Errorf("no %s in %s", key, r.Stdout)
		}
	}
	if r := weir(t, nil, "--version"); !strings.HasPrefix(r.Stdout, "weir ") || r.Code != 0 {
		t.Errorf("--version: code %d, %q", r.Code, r.Stdout)
	}
}
