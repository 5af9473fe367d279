package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/clitest"
)

// weir runs the whole program in process.
func weir(t *testing.T, environ []string, args ...string) clitest.Result {
	t.Helper()
	var out, talk bytes.Buffer
	code := run(t.Context(), cli.Process{Args: args, Environ: environ, Stdin: strings.NewReader(""), Stdout: &out, Stderr: &talk})
	return clitest.Result{Code: code, Stdout: out.String(), Stderr: talk.String()}
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
	a := cli.NewApp(cli.Process{Stdout: io.Discard, Stderr: io.Discard})
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
