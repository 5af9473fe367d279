package ingest

import (
	"slices"
	"strings"
	"testing"
)

// FuzzSplit compares csvSplitter with a state machine that looks at one byte at a time. A row that
// is broken must not affect the next one, so a good row follows each.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"a,b\n", "\"a,\"\"\",b\r\n", "\"", "\"a", "\"a\n", "\"a\"b\n", "a\"b", "\"a\"\"\n", "x,\"a\r\nb\",c\n", "\"a\"b\n\"c", "\"a\ne\"f\"g\n\"", "\r\r\n", "a\r\r", ",", "\"\"",
	} {
		f.Add(seed)
	}
	splitter := newCSVSplitter(',')
	f.Fuzz(func(t *testing.T, row string) {
		want, detail, ok := slowSplit(row)
		if !ok || isEmpty(trimLineEnd([]byte(row))) {
			return // not one row
		}
		got, err := splitter.split([]byte(row))
		switch {
		case detail == "" && (err != nil || !slices.Equal(got, want)):
			t.Errorf("%q is %q, %v; want %q", row, got, err, want)
		case detail != "" && (err == nil || err.Reason != ReasonQuote || !strings.Contains(err.Detail, detail)):
			t.Errorf("%q is %q, %v; want an error with %q", row, got, err, detail)
		case (detail == "never closes") != (err == errOpenQuote):
			t.Errorf("%q: %v is wrong about an open quote", row, err)
		}
		if next, err := splitter.split([]byte("1,2\n")); err != nil || !slices.Equal(next, []string{"1", "2"}) {
			t.Errorf("the row after %q is %q, %v", row, next, err)
		}
	})
}

// slowSplit returns the columns of row, or a part of the rejection's detail. It is false if row is
// more than one row.
func slowSplit(row string) (columns []string, detail string, ok bool) {
	row = strings.ReplaceAll(string(trimLineEnd([]byte(row))), "\r\n", "\n")
	const begin, plain, quoted, closed = 0, 1, 2, 3
	state, column := begin, ""
	for _, ch := range []byte(row) {
		switch {
		case state == quoted && ch == '"':
			state = closed
		case state == quoted:
			column += string([]byte{ch})
		case ch == '\n':
			return nil, "", false
		case ch == ',':
			columns, column, state = append(columns, column), "", begin
		case state == begin && ch == '"':
			state = quoted
		case state == closed && ch == '"':
			column, state = column+"\"", quoted
		case state == closed:
			return nil, "continues after its closing quote", true
		case ch == '"':
			return nil, "is not quoted", true
		default:
			column, state = column+string([]byte{ch}), plain
		}
	}
	if state == quoted {
		return nil, "never closes", true
	}
	return append(columns, column), "", true
}
