package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/weirhq/weir/internal/config"
)

// Format is a value of -o.
type Format string

const (
	formatTable Format = "table" // columns
	FormatWide  Format = "wide"  // all columns
	FormatJSON  Format = "json"  // one document
	FormatYAML  Format = "yaml"  // one document
	FormatJSONL Format = "jsonl" // a document for each row
	FormatCSV   Format = "csv"   // a header, and a line for each row
)

func outputFormats() string { return strings.Join(formatNames(), ", ") }

func formatNames() []string {
	return []string{string(formatTable), string(FormatWide), string(FormatJSON), string(FormatYAML), string(FormatJSONL), string(FormatCSV)}
}

// Set parses the value of -o.
func (f *Format) Set(s string) error {
	if !slices.Contains(formatNames(), s) {
		if n, ok := config.Nearest(s, formatNames()); ok {
			return fmt.Errorf("%q is not an output format: did you mean %s?", s, n)
		}
		return fmt.Errorf("%q is not an output format: use one of %s", s, outputFormats())
	}
	*f = Format(s)
	return nil
}

// String returns the name of the format.
func (f *Format) String() string { return string(*f) }

// Type is the name of the value in the help.
func (f *Format) Type() string { return "format" }

// Structured reports whether the format is for programs. Then even an empty result is a document.
func (a *App) Structured() bool { return a.Format != formatTable && a.Format != FormatWide }

// PrintRows prints a list of structs in the format of -o. The json tags of the fields, in
// snake_case, are the names of the columns. A field with the tag table:"wide" is a column of -o
// wide only; a field with the tag table:"-" is not a column.
func PrintRows[T any](a *App, rows []T) error {
	return a.Print(func(w io.Writer) error {
		switch a.Format {
		case FormatJSON, FormatYAML:
			if rows == nil {
				rows = []T{} // an empty list, not null
			}
			return encode(w, a.Format, rows)
		case FormatJSONL:
			for i := range rows {
				if err := encode(w, a.Format, rows[i]); err != nil {
					return err
				}
			}
			return nil
		case FormatCSV:
			return writeCSV(w, rows)
		case formatTable, FormatWide:
		}
		return WriteTable(w, rows, a.Format == FormatWide)
	})
}

// PrintOne prints a struct as a document, or as a table of names and values.
func PrintOne[T any](a *App, v T) error {
	return a.Print(func(w io.Writer) error {
		switch {
		case a.Format == FormatCSV:
			return writeCSV(w, []T{v})
		case a.Structured():
			return encode(w, a.Format, v)
		}
		return writePairs(w, v, a.Format == FormatWide)
	})
}

// NoCSV returns a usage error if the format is CSV, for commands whose answer is not rows.
func (a *App) NoCSV() error {
	if a.Format != FormatCSV {
		return nil
	}
	return UsageError("the answer of this command is not a list, so it has no CSV form", "use -o json or -o yaml")
}

// Print calls fn with a buffer, and writes what fn wrote to stdout, in the format of -o. Characters
// that could steer a terminal are escaped. A failed write is exit code 74.
func (a *App) Print(fn func(io.Writer) error) error {
	var out bytes.Buffer
	if err := fn(&out); err != nil {
		return fmt.Errorf("cannot format the output: %w", err)
	}
	if _, err := a.Stdout.Write(a.Format.escaped(out.Bytes())); err != nil {
		return Fail(ExitIO, "cannot write the output", err, "check the disk, or the program that reads the output")
	}
	return nil
}

// encode writes v as JSON, as a line of JSON, or as YAML with the same names in the same order.
func encode(w io.Writer, f Format, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if f == FormatJSON {
		enc.SetIndent("", "  ")
	}
	if err := enc.Encode(v); err != nil {
		return err
	}
	if f != FormatYAML {
		_, err := buf.WriteTo(w)
		return err
	}
	return WriteYAML(w, buf.Bytes())
}

// WriteYAML writes a JSON document as YAML. JSON is YAML in another style. A change of the style
// keeps names, order and large numbers.
func WriteYAML(w io.Writer, document []byte) error {
	var doc yaml.Node
	if err := yaml.Unmarshal(escape(document, yamlEscape), &doc); err != nil { // it refuses control characters
		return err
	}
	blockStyle(&doc)
	y := yaml.NewEncoder(w)
	y.SetIndent(2)
	if err := y.Encode(&doc); err != nil {
		return err
	}
	return y.Close()
}

// blockStyle gives collections the block style, and names no quotes, unless a character of the name
// needs an escape. Texts keep their quotes, because YAML 1.1 reads the text no as a boolean.
func blockStyle(n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		n.Style = 0
	}
	for i, c := range n.Content {
		blockStyle(c)
		if n.Kind == yaml.MappingNode && i%2 == 0 && !strings.ContainsFunc(c.Value, notGraphic) {
			c.Style = 0
		}
	}
}
