package main

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// complete returns what a shell is offered for a command line, and whether it adds names of files.
func complete(t *testing.T, args ...string) (values []string, files bool) {
	t.Helper()
	var out, talk bytes.Buffer
	code := run(t.Context(), cli.Process{
		Args: append([]string{"__complete"}, args...), Environ: []string{"WEIR_LEASES_REGIONS=eu-west-1,us-east-1"}, Stdout: &out, Stderr: &talk,
	})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	last := lines[len(lines)-1]
	if code != 0 || !strings.HasPrefix(last, ":") {
		t.Fatalf("%q: code %d, %s%s", args, code, out.String(), talk.String())
	}
	for _, l := range lines[:len(lines)-1] {
		name, _, _ := strings.Cut(l, "\t")
		values = append(values, name)
	}
	return values, last == ":0"
}

// TestCompletion: shells complete values, and names of files only where a file is meant.
func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		line  string // the last word is completed
		want  []string
		files bool
	}{
		{"spend show -o ", []string{"table", "wide", "json", "yaml", "jsonl", "csv"}, false},
		{"run --roles b", []string{"bridge", "balancer"}, false},
		{"run --roles spendcounter,b", []string{"spendcounter,bridge", "spendcounter,balancer"}, false},
		{"run --roles bridge,b", []string{"bridge,balancer"}, false},
		{"ingest x --format o", []string{"openbandit"}, false},
		{"ingest --format csv ", nil, true},
		{"ingest x --rejects ", nil, true},
		{"table policy --role a", []string{"agent", "admin"}, false},
		{"lease get --region ", []string{"eu-west-1", "us-east-1"}, false},
		{"region get u", []string{"us-east-1"}, false},
		{"region list ", nil, false},
		{"bridge scan e", []string{"eu-west-1"}, false},
		{"region adopt us-east-1 --by eu", []string{"eu-west-1"}, false},
		{"spend show --campaign ", nil, false},
		{"version ", nil, false},
		{"version -f ", nil, true},
		{"--log-level w", []string{"warn"}, false},
	} {
		values, files := complete(t, strings.Split(c.line, " ")...)
		if !slices.Equal(values, c.want) || files != c.files {
			t.Errorf("%q: %q, files %t", c.line, values, files)
		}
	}
}

// walk calls fn with each command of the tree as it runs.
func walk(t *testing.T, fn func(path string, c *cobra.Command)) {
	t.Helper()
	var out bytes.Buffer
	a := cli.NewApp(cli.Process{Args: []string{"version"}, Stdout: &out, Stderr: &out})
	root := newRoot(a)
	if code := a.Execute(t.Context(), root); code != 0 {
		t.Fatal(out.String())
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		if c.Name() == "completion" || c.Name() == "help" {
			return // of cobra
		}
		fn(c.CommandPath(), c)
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
}

// TestHelpTexts: the help has no types of Go and no sentences cut in their middle, and flags for
// files complete files.
func TestHelpTexts(t *testing.T) {
	begins := regexp.MustCompile(`^(a |an |the )?[a-zA-Z0-9"]`)
	path := regexp.MustCompile(`^(PEM |configuration )?(file|directory)\b`)
	n := 0
	walk(t, func(name string, c *cobra.Command) {
		n++
		if c.Short == "" || strings.HasSuffix(c.Short, ".") || !regexp.MustCompile(`^[A-Z]`).MatchString(c.Short) {
			t.Errorf("%s: summary %q", name, c.Short)
		}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			kind, usage := pflag.UnquoteUsage(f)
			if slices.Contains([]string{"int32", "uint", "uint64", "stringArray", "stringSlice"}, kind) || strings.Contains(f.Usage, "`") {
				t.Errorf("%s --%s: the type is %q", name, f.Name, kind)
			}
			if !begins.MatchString(usage) || strings.HasSuffix(usage, ".") {
				t.Errorf("%s --%s: %q", name, f.Name, usage)
			}
			fn, ok := c.GetFlagCompletionFunc(f.Name)
			if named := path.MatchString(usage); f.Name != "help" && f.Name != "version" && named == ok {
				t.Errorf("%s --%s: %q, and a completion without files: %t (%T)", name, f.Name, usage, ok, fn)
			}
		})
	})
	if n < 70 {
		t.Errorf("%d commands", n)
	}
}

// TestUnknownCommand: a command that does not exist is answered with those that do, if they are few
// and none is similar.
func TestUnknownCommand(t *testing.T) {
	var out, talk bytes.Buffer
	code := run(t.Context(), cli.Process{Args: []string{"topics", "list"}, Stdout: &out, Stderr: &talk})
	if want := "the commands of `weir topics` are: apply, plan"; code != cli.ExitUsage || !strings.Contains(talk.String(), want) {
		t.Errorf("code %d, no %q in\n%s", code, want, talk.String())
	}
}

// TestGroups: each name in the list of groups is a command, so that none is lost by a new name.
func TestGroups(t *testing.T) {
	root := newRoot(cli.NewApp(cli.Process{}))
	for _, g := range groups() {
		for _, name := range g.commands {
			if !slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == name && c.GroupID == g.title }) {
				t.Errorf("%s: there is no command %s", g.title, name)
			}
		}
	}
}
