package config

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxFile is the greatest size of a configuration file, so that a wrong path does not exhaust the
// memory.
const maxFile = 1 << 20

// setting is a raw value and its position.
type setting struct {
	value any // string or []string; []any of strings and DC for dcs
	where string
}

// readFile returns the settings in the YAML file at path, by dotted key. It does not check whether
// the keys exist.
func readFile(path string) (map[string]setting, []Problem) {
	info, err := os.Stat(path)
	if err == nil && (info.IsDir() || info.Size() > maxFile) {
		err = fmt.Errorf("the path is a directory or a file larger than %s", Bytes(maxFile))
	}
	var raw []byte
	if err == nil {
		raw, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, []Problem{
			{Where: path, What: "cannot read the configuration: " + rootCause(err), Fix: "check the path and its permissions"},
		}
	}
	return parseFile(path, raw)
}

// parseFile parses a YAML document. It walks the nodes, because a decoder loses their lines and the
// spelling of their values ("on", 010).
func parseFile(path string, raw []byte) (map[string]setting, []Problem) {
	var doc yaml.Node
	if err := yaml.Unmarshal(raw, &doc); err != nil {
		return nil, []Problem{
			{Where: path, What: "not YAML: " + withoutContent(err), Fix: "write one `key: value` per line and indent sections with spaces"},
		}
	}
	f := &fileReader{path: path, found: map[string]setting{}}
	if len(doc.Content) > 0 {
		f.walk(doc.Content[0], "")
	}
	return f.found, f.problems
}

// withoutContent removes the quotations of the file from an error of the parser, because the file
// may contain a secret. The parser also quotes what it expected, such as ',' or ']'.
func withoutContent(err error) string {
	s := strings.TrimPrefix(err.Error(), "yaml: ")
	return regexp.MustCompile("'[^']*'|`[^`]*`|\"[^\"]*\"").ReplaceAllStringFunc(s, func(quoted string) string {
		switch quoted {
		case "','", "']'", "'}'", "':'", "'-'", "'<document start>'":
			return quoted
		}
		return "(hidden)"
	})
}

// rootCause returns the innermost error, without the path that errors of package os repeat.
func rootCause(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// fileReader collects the settings and the problems of a file.
type fileReader struct {
	path     string
	found    map[string]setting
	problems []Problem
}

func (f *fileReader) problem(n *yaml.Node, key, what, fix string) {
	f.problems = append(f.problems, Problem{Where: f.at(n), Key: key, What: what, Fix: fix})
}

func (f *fileReader) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", f.path, n.Line) }

// walk collects the settings below n, whose dotted name is name. Its problems never quote a value,
// because the key may be the misspelled key of a secret.
func (f *fileReader) walk(n *yaml.Node, name string) {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode || key.Value == "<<" {
				f.problem(key, name, "a key must be a plain name", "write key: value")
				continue
			}
			full := key.Value
			if name != "" {
				full = name + "." + key.Value
			}
			f.walk(n.Content[i+1], full)
		}
	case yaml.SequenceNode:
		if name == dcsKey {
			f.dcs(n)
			return
		}
		list := make([]string, 0, len(n.Content))
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				f.problem(item, name, fmt.Sprintf("%s: a list takes plain values", name), "write one `- value` per line")
				return
			}
			list = append(list, item.Value)
		}
		f.set(n, name, list)
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return // an empty section or key counts as missing
		}
		f.set(n, name, n.Value)
	default:
		f.problem(n, name, "aliases are not supported", "write the value out")
	}
}

func (f *fileReader) set(n *yaml.Node, name string, v any) {
	if name == "" {
		f.problem(n, name, "the file contains a value, not settings", "write key: value")
		return
	}
	if first, dup := f.found[name]; dup {
		f.problem(n, name, fmt.Sprintf("%q is set twice, first at %s", name, first.where), "remove one of them")
		return
	}
	f.found[name] = setting{value: v, where: f.at(n)}
}
