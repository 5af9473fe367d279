package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/internal/config"
)

// weir runs the whole program in process.
func weir(t *testing.T, environ []string, args ...string) Result {
	t.Helper()
	var out, talk bytes.Buffer
	code := run(t.Context(), process{args: args, environ: environ, stdin: strings.NewReader(""), stdout: &out, stderr: &talk})
	return Result{Code: code, Stdout: out.String(), Stderr: talk.String()}
}

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weir.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
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
		{"command unlike any", []string{"zzzzzz"}, 64, []string{"`weir --help` lists the commands"}},
		{"flag", []string{"version", "--ouptut", "json"}, 64, []string{"--ouptut", "did you mean --output?"}},
		{"short flag", []string{"version", "-x"}, 64, []string{"-x", "`weir version --help` lists the flags"}},
		{"format", []string{"version", "-o", "jsn"}, 64, []string{"did you mean json?"}},
		{"format unlike any", []string{"version", "-o", "picture"}, 64, []string{"one of table, wide, json, yaml, jsonl"}},
		{"argument too many", []string{"version", "now"}, 64, []string{`"now"`, "`weir version --help`"}},
		{"flag without value", []string{"version", "-o"}, 64, []string{"needs an argument"}},
		{"configuration", []string{"config", "check", "--brokers", "nowhere"}, 78, []string{`--brokers: kafka.brokers: "nowhere" is not allowed`}},
		{"no such file", []string{"config", "print", "-f", "/no/such/weir.yaml"}, 78, []string{"/no/such/weir.yaml: cannot read the configuration"}},
		{"log level", []string{"config", "print", "--log-level", "inof"}, 78, []string{`did you mean "info"?`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := weir(t, nil, tc.args...)
			if r.Code != tc.code || r.Stdout != "" {
				t.Errorf("code %d, want %d; stdout %q", r.Code, tc.code, r.Stdout)
			}
			for _, w := range append(tc.want, "weir: ", "\n  why: ", "\n  do:  ") {
				if !strings.Contains(r.Stderr, w) {
					t.Errorf("stderr does not say %q:\n%s", w, r.Stderr)
				}
			}
			if strings.Contains(r.Stderr, "\x1b") {
				t.Errorf("colours for something that is no terminal: %q", r.Stderr)
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

func TestEveryCommandIsDescribed(t *testing.T) {
	a := newApp(process{stdout: io.Discard, stderr: io.Discard})
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Short == "" || c.Run != nil || c.RunE == nil && !c.HasSubCommands() {
			t.Errorf("%s: needs Short, and RunE in place of Run", c.CommandPath())
		}
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

func TestConfigPrint(t *testing.T) {
	const secret = "hunter2-canary"
	file := configFile(t, "dc: eu-1\nkafka: {sasl: {mechanism: PLAIN, user: u}}\nlog: {level: warn}\n")
	environ := []string{"WEIR_KAFKA_SASL_PASSWORD=" + secret, "WEIR_INSTANCE=slot-0", "WEIR_LOG_LEVEL=error"}
	for format, want := range map[string][]string{
		"table": {"dc ", "eu-1 ", file + ":1\n", "slot-0 ", "env ", "WEIR_INSTANCE\n", "127.0.0.1:1,127.0.0.1:2", "flag ", "--brokers\n", "[redacted]"},
		"wide":  {"DEFAULT", "WEIR_KAFKA_BROKERS", "5ms to 1m", "time between commits"},
		"json":  {`"key": "log.level",` + "\n" + `    "value": "error",` + "\n" + `    "origin": "env",`},
		"jsonl": {`{"key":"dc","value":"eu-1","origin":"file",`},
		"yaml":  {"dc: eu-1 # file " + file + ":1\n", "# password: [redacted]"},
	} {
		t.Run(format, func(t *testing.T) {
			r := Run(t, opsCommands, environ, "config", "print", "-f", file, "--brokers", "127.0.0.1:1", "--brokers", "127.0.0.1:2", "-o", format)
			if r.Code != 0 || r.Stderr != "" {
				t.Fatalf("code %d, %s", r.Code, r.Stderr)
			}
			for _, w := range want {
				if !strings.Contains(r.Stdout, w) {
					t.Errorf("no %q in\n%s", w, r.Stdout)
				}
			}
			if strings.Contains(r.Stdout+r.Stderr, secret) {
				t.Error("the secret is shown")
			}
		})
	}
}

func TestConfigCheck(t *testing.T) {
	r := Run(t, opsCommands, nil, "config", "check", "-o", "json", "-f", configFile(t, "topics: {replication_factor: 1, min_insync: 1}"))
	var got struct {
		Valid    bool
		Changed  int
		Warnings []string
	}
	if err := json.Unmarshal([]byte(r.Stdout), &got); err != nil || r.Code != 0 {
		t.Fatalf("code %d, %v in %s", r.Code, err, r.Stdout)
	}
	if !got.Valid || got.Changed != 2 || len(got.Warnings) != 1 || !strings.Contains(r.Stderr, "warning: ") {
		t.Errorf("%+v, stderr %s", got, r.Stderr)
	}
	r = Run(t, opsCommands, nil, "config", "check", "-f", configFile(t, "kafka:\n  brokerz: x\nmemory: 1"))
	for _, w := range []string{"weir.yaml:2:", `did you mean "kafka.brokers"?`, "weir.yaml:3:", "out of range"} {
		if r.Code != 78 || r.Stdout != "" || !strings.Contains(r.Stderr, w) {
			t.Errorf("code %d, no %q in\n%s", r.Code, w, r.Stderr)
		}
	}
}

// with runs a command whose code is fn.
func with(t *testing.T, stdout io.Writer, fn func(*app) error) (code int, stderr string) {
	t.Helper()
	var talk bytes.Buffer
	a := newApp(process{args: []string{"try"}, stdout: stdout, stderr: &talk})
	root := &cobra.Command{Use: "weir"}
	a.setUp(root)
	root.AddCommand(&cobra.Command{Use: "try", RunE: func(*cobra.Command, []string) error { return fn(a) }})
	code = a.execute(t.Context(), root)
	return code, talk.String()
}

func TestExitCodes(t *testing.T) {
	rpc := func(c connect.Code) error {
		return fmt.Errorf("asking: %w", connect.NewError(c, errors.New("told so")))
	}
	for name, tc := range map[string]struct {
		err  error
		code int
		want string
	}{
		"nothing":      {nil, 0, ""},
		"anything":     {errors.New("boom"), 1, "boom"},
		"typed":        {fmt.Errorf("deep: %w", fail(exitLocked, "the state directory is in use", errors.New("by pid 7"), "stop it")), 73, "stop it"},
		"data":         {fail(exitData, "a row is bad", errors.New("line 3"), "correct it"), 65, "line 3"},
		"kept kind":    {fail(0, "cannot ask", rpc(connect.CodePermissionDenied), ""), 77, "cannot ask"},
		"unavailable":  {rpc(connect.CodeUnavailable), 69, "told so"},
		"not found":    {rpc(connect.CodeNotFound), 1, "not found"},
		"bad request":  {rpc(connect.CodeInvalidArgument), 64, "told so"},
		"auth":         {rpc(connect.CodeUnauthenticated), 77, "told so"},
		"server's bug": {rpc(connect.CodeInternal), 70, "told so"},
		"data loss":    {rpc(connect.CodeDataLoss), 65, "told so"},
		"precondition": {rpc(connect.CodeFailedPrecondition), 1, "refused"},
		"dial":         {&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}, 69, "connection refused"},
		"name":         {&net.DNSError{Err: "no such host", Name: "x"}, 69, "no such host"},
		"deadline":     {fmt.Errorf("wait: %w", context.DeadlineExceeded), 69, "in time"},
		"interrupted":  {fmt.Errorf("wait: %w", context.Canceled), 130, "interrupted"},
		"disk full":    {fmt.Errorf("write: %w", syscall.ENOSPC), 74, "no space"},
		"file":         {&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOENT}, 74, "/x"},
		"mode":         {&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, 74, "permission"},
		"config":       {&config.Error{Problems: []config.Problem{{What: "one"}, {What: "two"}}}, 78, "one\n       two"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stderr := with(t, io.Discard, func(*app) error { return tc.err })
			if code != tc.code || !strings.Contains(stderr, tc.want) || (tc.err != nil) != strings.Contains(stderr, "  do:  ") {
				t.Errorf("code %d, want %d; stderr\n%s", code, tc.code, stderr)
			}
		})
	}
}

func TestAPanicIsABug(t *testing.T) {
	code, stderr := with(t, io.Discard, func(*app) error { panic("oh no") })
	for _, w := range []string{"panic: oh no", "exit_test.go", "report it"} {
		if code != 70 || !strings.Contains(stderr, w) {
			t.Errorf("code %d, no %q in\n%s", code, w, stderr)
		}
	}
}

// full is a disk without space.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestOutputThatCannotBeWritten(t *testing.T) {
	code, stderr := with(t, full{}, func(a *app) error { return printOne(a, struct{ Name string }{"x"}) })
	if code != 74 || !strings.Contains(stderr, "cannot write the output") {
		t.Errorf("code %d\n%s", code, stderr)
	}
}

func TestServerAddr(t *testing.T) {
	for _, tc := range []struct{ flag, env, want string }{
		{"", "", "127.0.0.1:8080"},
		{"", "h:1", "h:1"},
		{"g:2", "h:1", "g:2"},
		{"https://g:2/", "", "https://g:2"},
		{"ftp://g", "", ""},
		{"http://", "", ""},
	} {
		a := newApp(process{environ: []string{config.EnvServer + "=" + tc.env}})
		a.server = tc.flag
		got, err := a.serverAddr(config.Default())
		if got != tc.want || (err != nil) != (tc.want == "") {
			t.Errorf("--server %q, environment %q: %q, %v; want %q", tc.flag, tc.env, got, err, tc.want)
		}
		if err != nil && explain(err).code != exitUsage {
			t.Errorf("--server %q: code %d", tc.flag, explain(err).code)
		}
	}
}
