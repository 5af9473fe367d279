package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	rows := rows()
	rows[1].Name = "a,\"b\"\x1b[31m"
	got := printed(t, FormatCSV, rows)
	want := "name,charged_micros,as_of,brokers,lag,detail\n" +
		"first,147125090,2026-01-02T03:04:05.006Z,\"a,b\",7,x <&> y\n" +
		"\"a,\"\"b\"\"\\x1b[31m\",9007199254740993,,,,\"multi\nline\"\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if lines, err := csv.NewReader(strings.NewReader(got)).ReadAll(); err != nil || len(lines) != 3 {
		t.Errorf("%q, %v", lines, err)
	}
	if got := printed(t, FormatCSV, nil); got != "name,charged_micros,as_of,brokers,lag,detail\n" {
		t.Errorf("no rows: %q", got)
	}
	var out bytes.Buffer
	a := NewApp(Process{Stdout: &out})
	a.Format = FormatCSV
	if err := PrintOne(a, rows[0]); err != nil || strings.Count(out.String(), "\n") != 2 {
		t.Errorf("one row: %q, %v", out.String(), err)
	}
}

// seconds is a number for programs, and words in tables.
type seconds float64

func (seconds) String() string                 { return "long ago" }
func (s seconds) MarshalJSON() ([]byte, error) { return json.Marshal(float64(s)) }

// TestCSVIsForPrograms: a number is a number where a table has words.
func TestCSVIsForPrograms(t *testing.T) {
	type aged struct {
		Age seconds `json:"age_seconds"`
	}
	for format, want := range map[Format]string{
		FormatCSV: "age_seconds\n86400.5\n", formatTable: "AGE SECONDS\nlong ago\n", FormatJSONL: `{"age_seconds":86400.5}` + "\n",
	} {
		var out bytes.Buffer
		a := NewApp(Process{Stdout: &out})
		a.Format = format
		if err := PrintRows(a, []aged{{86400.5}}); err != nil || out.String() != want {
			t.Errorf("%s: %q, %v, not %q", format, out.String(), err, want)
		}
	}
}
