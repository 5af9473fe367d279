package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// texts is a document with a text as a name and as a value.
type texts struct {
	Value string            `json:"value" yaml:"value"`
	Names map[string]string `json:"names" yaml:"names"`
}

// checkEscaped prints a value and a name in all formats. None contains a character that a terminal
// could obey, and JSON and YAML have the same texts after decoding.
func checkEscaped(t *testing.T, s, name string) {
	t.Helper()
	for format, decode := range map[Format]func([]byte, any) error{
		FormatJSON: json.Unmarshal, FormatJSONL: json.Unmarshal, FormatYAML: yaml.Unmarshal, FormatCSV: nil, formatTable: nil, FormatWide: nil,
	} {
		var out bytes.Buffer
		a := NewApp(Process{Stdout: &out})
		a.Format = format
		if err := PrintOne(a, texts{s, map[string]string{name: s}}); err != nil {
			t.Fatalf("%s of %q: %v", format, s, err)
		}
		if bytes.ContainsFunc(out.Bytes(), notGraphic) {
			t.Errorf("%s of %q is raw: %q", format, s, out.String())
		}
		if decode == nil {
			continue
		}
		var got texts
		if err := decode(out.Bytes(), &got); err != nil || got.Value != s || got.Names[name] != s {
			t.Errorf("%s of %q: %v, %+q in %q", format, s, err, got, out.String())
		}
	}
}

// TestNoOutputSteersTheTerminal prints the characters of all scripts and controls, and some of the
// planes above.
func TestNoOutputSteersTheTerminal(t *testing.T) {
	const hostile = "\x1b]0;owned\x07\u009b31m\u202e\u2066\u200f\ufeff\x7f\r\n\t\U000e0001 é 客户 👩‍💻 no"
	checkEscaped(t, hostile, hostile)
	var text strings.Builder
	for r := rune(0); r <= utf8.MaxRune; r++ {
		if utf8.ValidRune(r) {
			text.WriteRune(r)
		}
		if r > 0xffff {
			r += 100
		}
	}
	checkEscaped(t, text.String(), "name")
}

// longest is the length of a text whose escapes fit in a name: YAML limits names to 1024
// characters.
const longest = 150

func FuzzEscaped(f *testing.F) {
	f.Add("\x1b[31m \u202e: #\n- x")
	f.Fuzz(func(t *testing.T, s string) {
		if s = strings.ToValidUTF8(s, "\ufffd"); len(s) <= longest {
			checkEscaped(t, s, s)
		}
	})
}
