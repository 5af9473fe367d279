package cli

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// row has a field of each type that commands print.
type row struct {
	Name    string    `json:"name"`
	Micros  int64     `json:"charged_micros"`
	At      time.Time `json:"as_of"`
	Brokers []string  `json:"brokers"`
	Lag     *int64    `json:"lag"`
	Detail  string    `json:"detail" table:"wide"`
	Raw     []byte    `json:"raw" table:"-"`
	hidden  string
}

func rows() []row {
	lag := int64(7)
	return []row{
		{Name: "first", Micros: 147125090, At: time.Date(2026, 1, 2, 3, 4, 5, 6000000, time.UTC), Brokers: []string{"a", "b"}, Lag: &lag, Detail: "x <&> y", hidden: "h"},
		{Name: "on", Micros: 9007199254740993, Detail: "multi\nline"},
	}
}

// printed returns the output of PrintRows in format.
func printed(t *testing.T, format Format, rows []row) string {
	t.Helper()
	var out bytes.Buffer
	a := NewApp(Process{Stdout: &out})
	a.Format = format
	if err := PrintRows(a, rows); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTable(t *testing.T) {
	want := "" +
		"NAME      CHARGED MICROS   AS OF                      BROKERS   LAG\n" +
		"first          147125090   2026-01-02T03:04:05.006Z   a,b       7\n" +
		"on      9007199254740993   -                          -         -\n"
	if got := printed(t, formatTable, rows()); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := printed(t, FormatWide, rows()); !strings.Contains(got, "DETAIL\n") || !strings.Contains(got, `"multi\nline"`) || strings.Contains(got, "RAW") {
		t.Errorf("wide:\n%s", got)
	}
	if got := printed(t, formatTable, nil); got != "NAME   CHARGED MICROS   AS OF   BROKERS   LAG\n" {
		t.Errorf("no rows:\n%s", got)
	}
}

func TestJSONLinesAndYAMLSayTheSame(t *testing.T) {
	var list []row
	if err := json.Unmarshal([]byte(printed(t, FormatJSON, rows())), &list); err != nil || len(list) != 2 || list[1].Micros != 9007199254740993 {
		t.Fatalf("%v, %+v", err, list)
	}
	lines := strings.Split(strings.TrimSpace(printed(t, FormatJSONL, rows())), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], `{"name":"first","charged_micros":147125090,`) || !strings.Contains(lines[0], "x <&> y") {
		t.Errorf("jsonl: %q", lines)
	}
	y := printed(t, FormatYAML, rows())
	for _, w := range []string{"- name: \"first\"\n  charged_micros: 147125090\n", "- name: \"on\"\n  charged_micros: 9007199254740993\n", "lag: null\n"} {
		if !strings.Contains(y, w) {
			t.Errorf("no %q in\n%s", w, y)
		}
	}
	for format, want := range map[Format]string{FormatJSON: "[]\n", FormatYAML: "[]\n", FormatJSONL: ""} {
		if got := printed(t, format, nil); got != want {
			t.Errorf("%s without rows: %q, want %q", format, got, want)
		}
	}
}

// TestFloats: tables and CSV have numbers without exponents.
func TestFloats(t *testing.T) {
	type figure struct {
		Seconds float64 `json:"seconds"`
	}
	rows := []figure{{5_266_881.5}, {0.00001}, {3}}
	for format, want := range map[Format]string{
		formatTable: "  SECONDS\n5266881.5\n  0.00001\n        3\n",
		FormatCSV:   "seconds\n5266881.5\n0.00001\n3\n",
	} {
		var out bytes.Buffer
		a := NewApp(Process{Stdout: &out})
		a.Format = format
		if err := PrintRows(a, rows); err != nil || out.String() != want {
			t.Errorf("%s: %v, got\n%swant\n%s", format, err, &out, want)
		}
	}
}

func TestATableDoesNotSteerTheTerminal(t *testing.T) {
	got := printed(t, formatTable, []row{{Name: "\x1b]0;owned\x07\u202e"}})
	if strings.ContainsAny(got, "\x1b\x07\u202e") || !strings.Contains(got, `\x1b]0;owned\a`) {
		t.Errorf("%q", got)
	}
}

func TestOne(t *testing.T) {
	var out bytes.Buffer
	if err := PrintOne(NewApp(Process{Stdout: &out}), &rows()[0]); err != nil {
		t.Fatal(err)
	}
	if want := "name:             first\ncharged micros:   147125090\n"; !strings.HasPrefix(out.String(), want) {
		t.Errorf("got\n%s", &out)
	}
}
