package config

import (
	"bufio"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Entry is one effective setting, as shown to a person. Secrets are redacted.
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

// entry completes e, which knows the origin, with the key's description and the value of field v.
func (k Key) entry(e Entry, v reflect.Value) Entry {
	e.Key, e.Value, e.Default, e.Env = k.Name, show(v), k.Default, k.Env()
	e.Unit, e.Range, e.Doc = k.Unit, k.Range(), k.Doc
	return e
}

// Entries returns every setting in the order of the struct, with its origin.
func (c *Config) Entries() []Entry { return slices.Clone(c.entries) }

// where says where key was set, "" if nowhere.
func (c *Config) where(key string) string {
	for _, e := range c.entries {
		if e.Key == key {
			return e.Where
		}
	}
	return ""
}

// Print writes the configuration as a YAML file that loads to the same settings, each with its purpose and origin in
// comments. Secrets appear as a comment only.
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
		fmt.Fprintf(out, "%s# %s\n", in, e.Doc)
		name := path[len(path)-1]
		if k := keysByName()[e.Key]; k.EnvOnly {
			fmt.Fprintf(out, "%s# %s: %s # %s\n", in, name, e.Value, note)
			continue
		}
		fmt.Fprintf(out, "%s%s: %s # %s\n", in, name, quoted(e.Value), note)
	}
	return out.Flush()
}

func indent(depth int) string { return strings.Repeat("  ", depth) }

// quoted spells s as a YAML scalar on one line.
func quoted(s string) string {
	n := yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s}
	if s == "" || strings.ContainsAny(s, "\n\r\t#:\"'{}[]&*!|>%@`\\\x00") || strings.TrimSpace(s) != s {
		n.Style = yaml.DoubleQuotedStyle
	}
	b, err := yaml.Marshal(&n)
	if err != nil {
		return `""`
	}
	return strings.TrimSuffix(string(b), "\n")
}
