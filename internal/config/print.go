package config

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Entry is one effective setting for display. Secrets are redacted.
type Entry struct {
	Key     string `json:"key"`
	Value   string `json:"value"`
	Origin  Origin `json:"origin"`
	Where   string `json:"where"` // file:line, variable or flag; "" for a default
	Default string `json:"default"`
	Env     string `json:"env"`
	Unit    string `json:"unit"`
	Range   string `json:"range"`
	Doc     string `json:"doc"`
}

// entry completes e, which has the origin, by the description of the key and the value of field v.
func (k Key) entry(e Entry, v reflect.Value) Entry {
	e.Key, e.Value, e.Default, e.Env = k.Name, show(v), k.Default, k.Env()
	e.Unit, e.Range, e.Doc = k.Unit, k.Range(), k.Doc
	return e
}

// Entries returns all settings with their origins, in the order of Config.
func (c *Config) Entries() []Entry { return slices.Clone(c.entries) }

// where returns the position at which key was set, "" for a default.
func (c *Config) where(key string) string {
	for _, e := range c.entries {
		if e.Key == key {
			return e.Where
		}
	}
	return ""
}

// Print writes the configuration as a YAML file that loads to the same settings. Comments contain
// the description and the origin of each setting. A secret is a comment too, and redacted.
func (c *Config) Print(w io.Writer) error {
	out := bufio.NewWriter(w)
	var section []string
	for _, e := range c.entries {
		path := strings.Split(e.Key, ".")
		for i := range len(path) - 1 {
			if i >= len(section) || section[i] != path[i] {
				fmt.Fprintf(out, "%s%s:\n", indent(i), path[i])
				section = append(section[:i:i], path[i])
			}
		}
		section = section[:len(path)-1]
		in := indent(len(path) - 1)
		note := string(e.Origin)
		if e.Where != "" {
			note += " " + e.Where
		}
		for _, line := range wrap(e.Doc, maxLine-len(in)-len("# ")) {
			fmt.Fprintf(out, "%s# %s\n", in, line)
		}
		name := path[len(path)-1]
		if k := keysByName()[e.Key]; k.EnvOnly {
			fmt.Fprintf(out, "%s# %s: %s # %s\n", in, name, e.Value, note)
			continue
		}
		if e.Key == dcsKey && len(c.DCs) > 0 {
			fmt.Fprintf(out, "%s: # %s\n", name, note)
			printDCs(out, c.DCs)
			continue
		}
		fmt.Fprintf(out, "%s%s: %s # %s\n", in, name, quoted(e.Value), note)
	}
	return out.Flush()
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

// maxLine is the greatest length of a printed comment in bytes.
const maxLine = 100

// wrap breaks text into lines of at most width bytes. A longer word has a line of its own.
func wrap(text string, width int) (lines []string) {
	for _, word := range strings.Fields(text) {
		if n := len(lines) - 1; n >= 0 && len(lines[n])+1+len(word) <= width {
			lines[n] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// quoted returns s as a YAML scalar on one line.
func quoted(s string) string {
	notGraphic := func(r rune) bool { return !unicode.IsGraphic(r) } // a writer can escape it in quotes
	n := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if s == "" || strings.ContainsAny(s, "\n\r\t#:\"'{}[]&*!|>%@`\\\x00") || strings.TrimSpace(s) != s ||
		strings.ContainsFunc(s, notGraphic) {
		n.Style = yaml.DoubleQuotedStyle
	}
	b, err := yaml.Marshal(&n)
	if err != nil {
		return `""`
	}
	return strings.TrimSuffix(string(b), "\n")
}
