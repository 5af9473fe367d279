package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weirhq/weir/internal/config"
)

// outputFormat is a value of -o.
type outputFormat string

const (
	formatTable outputFormat = "table" // columns for a person
	formatWide  outputFormat = "wide"  // the same with every column
	formatJSON  outputFormat = "json"  // one document
	formatYAML  outputFormat = "yaml"  // the same in YAML
	formatJSONL outputFormat = "jsonl" // one line per row
)

func outputFormats() string { return strings.Join(formatNames(), ", ") }

func formatNames() []string {
	return []string{string(formatTable), string(formatWide), string(formatJSON), string(formatYAML), string(formatJSONL)}
}

// Set parses -o.
func (f *outputFormat) Set(s string) error {
	if !slices.Contains(formatNames(), s) {
		if n, ok := config.Nearest(s, formatNames()); ok {
			return fmt.Errorf("did you mean %s?", n)
		}
		return fmt.Errorf("one of %s", outputFormats())
	}
	*f = outputFormat(s)
	return nil
}

// String returns the format's name.
func (f *outputFormat) String() string { return string(*f) }

// Type names the value in the help.
func (f *outputFormat) Type() string { return "format" }

// structured tells whether stdout is for a machine, so that even "nothing to show" must be a document.
func (a *app) structured() bool { return a.format != formatTable && a.format != formatWide }

// printRows prints a list of structs in the format of -o. The fields' json tags name the columns, which should be
// snake_case; a tag table:"wide" keeps a field for -o wide, table:"-" out of tables.
func printRows[T any](a *app, rows []T) error {
	return a.print(func(w io.Writer) error {
		switch a.format {
		case formatJSON, formatYAML:
			if rows == nil {
				rows = []T{} // an empty list, not null
			}
			return encode(w, a.format, rows)
		case formatJSONL:
			for i := range rows {
				if err := encode(w, a.format, rows[i]); err != nil {
					return err
				}
			}
			return nil
		case formatTable, formatWide:
		}
		return writeTable(w, rows, a.format == formatWide)
	})
}

// printOne prints one struct: a document, or a table of two columns.
func printOne[T any](a *app, v T) error {
	return a.print(func(w io.Writer) error {
		if a.structured() {
			return encode(w, a.format, v)
		}
		return writePairs(w, v, a.format == formatWide)
	})
}

// print gives fn a buffered stdout. A pipe or disk that fails is exit code 74.
func (a *app) print(fn func(io.Writer) error) error {
	out := bufio.NewWriter(a.stdout)
	if err := fn(out); err != nil {
		return fmt.Errorf("cannot format the output: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fail(exitIO, "cannot write the output", err, "check the disk or the program that reads it")
	}
	return nil
}

// encode writes v as JSON, as one line of JSON, or as YAML with the same names in the same order.
func encode(w io.Writer, f outputFormat, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if f == formatJSON {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return err
	}
	if f != formatYAML {
		_, err := buf.WriteTo(w)
		return err
	}
	// JSON is YAML in another style: restyling its nodes keeps names, order and large numbers as they are.
	var doc yaml.Node
	if err := yaml.Unmarshal(buf.Bytes(), &doc); err != nil {
		return err
	}
	restyle(&doc)
	y := yaml.NewEncoder(w)
	y.SetIndent(2)
	if err := y.Encode(&doc); err != nil {
		return err
	}
	return y.Close()
}

// restyle makes collections block style and names plain. Texts keep their quotes: readers of YAML 1.1 would take a
// campaign called no for a boolean.
func restyle(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		n.Style = 0
	}
	for i, c := range n.Content {
		restyle(c)
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			c.Style = 0
		}
	}
}
