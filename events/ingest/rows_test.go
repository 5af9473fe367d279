package ingest

import (
	"bytes"
	"encoding/csv"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// csvRows cuts r into rows as format csv does, with at most limit bytes per row.
func csvRows(r io.Reader, limit int) *rowReader {
	return &rowReader{in: newLineReader(r, limit), split: newCSVSplitter(','), blank: isEmpty}
}

type cutRow struct {
	line   int
	raw    string
	size   int64
	fields []string
	reason string
}

func cutAll(t testing.TB, s *rowReader) []cutRow {
	t.Helper()
	var list []cutRow
	for {
		row, err := s.next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		c := cutRow{line: row.line, raw: string(row.raw), size: row.size}
		if row.err != nil {
			c.reason = row.err.Reason
		} else {
			c.fields = slices.Clone(row.columns)
		}
		if row.number != uint64(len(list)+1) {
			t.Fatalf("row number %d, want %d", row.number, len(list)+1)
		}
		list = append(list, c)
	}
}

func TestRows(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []cutRow
	}{
		{"plain", "a,b\nc,\n", []cutRow{{line: 1, raw: "a,b", fields: []string{"a", "b"}}, {line: 2, raw: "c,", fields: []string{"c", ""}}}},
		{"no line end at the end", "a", []cutRow{{line: 1, raw: "a", fields: []string{"a"}}}},
		{"byte order mark", "\ufeffa\n", []cutRow{{line: 1, raw: "a", fields: []string{"a"}}}},
		{"blank lines and \\r\\n", "\r\n\na\r\n\n,\n", []cutRow{{line: 3, raw: "a", fields: []string{"a"}}, {line: 5, raw: ",", fields: []string{"", ""}}}},
		{"quoted comma, quote and line end", "\"a,\"\"b\"\"\",\"c\r\nd\"\ne\n", []cutRow{
			{line: 1, raw: "\"a,\"\"b\"\"\",\"c\r\nd\"", fields: []string{`a,"b"`, "c\nd"}}, {line: 3, raw: "e", fields: []string{"e"}},
		}},
		{"a quote that never closes costs its own line", "a\n\"b\nc\nd\n", []cutRow{
			{line: 1, raw: "a", fields: []string{"a"}},
			{line: 2, raw: `"b`, reason: ReasonQuote},
			{line: 3, raw: "c", fields: []string{"c"}},
			{line: 4, raw: "d", fields: []string{"d"}},
		}},
		{"a quote that closes wrongly costs its own lines", "\"b\nc\nd\"x\ne\n", []cutRow{
			{line: 1, raw: `"b`, reason: ReasonQuote},
			{line: 2, raw: "c", fields: []string{"c"}},
			{line: 3, raw: `d"x`, reason: ReasonQuote},
			{line: 4, raw: "e", fields: []string{"e"}},
		}},
		{"a quote inside", "a\"b,c\nd\n", []cutRow{{line: 1, raw: `a"b,c`, reason: ReasonQuote}, {line: 2, raw: "d", fields: []string{"d"}}}},
		{"too long", "a\n123456789012345678901\nb\n", []cutRow{
			{line: 1, raw: "a", fields: []string{"a"}},
			{line: 2, raw: "12345678901234567890", size: 21, reason: ReasonTooLong},
			{line: 3, raw: "b", fields: []string{"b"}},
		}},
		{"as long as allowed", "12345678901234567890\n", []cutRow{{line: 1, raw: "12345678901234567890", fields: []string{"12345678901234567890"}}}},
		{"too long without an end", "123456789012345678901", []cutRow{{line: 1, raw: "12345678901234567890", size: 21, reason: ReasonTooLong}}},
		{"a quote open over too much", "\"a\n1234567890\n1234567890\n1\"\n", []cutRow{
			{line: 1, raw: `"a`, reason: ReasonQuote},
			{line: 2, raw: "1234567890", fields: []string{"1234567890"}},
			{line: 3, raw: "1234567890", fields: []string{"1234567890"}},
			{line: 4, raw: `1"`, reason: ReasonQuote},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i := range c.want {
				if c.want[i].size == 0 {
					c.want[i].size = int64(len(c.want[i].raw))
				}
			}
			for _, r := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text))} {
				got := cutAll(t, csvRows(r, 20))
				if !slices.EqualFunc(got, c.want, equalRow) {
					t.Errorf("got  %+v\nwant %+v", got, c.want)
				}
			}
		})
	}
}

func equalRow(a, b cutRow) bool {
	return a.line == b.line && a.raw == b.raw && a.size == b.size && a.reason == b.reason && slices.Equal(a.fields, b.fields)
}

// TestReadErrorGivesNoHalfRow: an input that breaks off must not give half a row, because half a
// price is a valid price.
func TestReadErrorGivesNoHalfRow(t *testing.T) {
	broken := errors.New("cable cut")
	for _, text := range []string{"a,12\nb,34", "a,12\n\"b\nc", "a,12\n" + strings.Repeat("x", 100)} {
		s := csvRows(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), 20)
		if row, err := s.next(); err != nil || string(row.raw) != "a,12" {
			t.Fatalf("first row: %v, %v", row, err)
		}
		for range 2 {
			if row, err := s.next(); !errors.Is(err, broken) {
				t.Errorf("%q: row %v, error %v, want the read error", text, row, err)
			}
		}
	}
	stuck := csvRows(stuckReader{}, 20)
	if _, err := stuck.next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("a reader that gives nothing: %v", err)
	}
}

type stuckReader struct{}

func (stuckReader) Read([]byte) (int, error) { return 0, nil }

// FuzzRows checks that no byte is lost, that lines are counted right, that the sizes of reads do
// not matter, and that rows without a rejection are the records of encoding/csv.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{"", "a,b\n", "\"a\nb\",c\r\n\n", "\"", "a\"\n\"\n\"\n", "\ufeff\"x\"\"\"\n", strings.Repeat("y", 70) + "\nz", "\"a\"b\n", "\r", "\"\r\n\"", "\"a\r\"\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		const limit = 64
		got := cutAll(t, csvRows(bytes.NewReader(text), limit))
		if slow := cutAll(t, csvRows(iotest.OneByteReader(bytes.NewReader(text)), limit)); !slices.EqualFunc(got, slow, equalRow) {
			t.Fatalf("read at once %+v, byte by byte %+v", got, slow)
		}
		checkNothingLost(t, text, got)
		for _, row := range got {
			if row.reason != "" || row.size > limit {
				return
			}
		}
		r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte(byteOrderMark))))
		r.FieldsPerRecord = -1
		want, err := r.ReadAll()
		if err != nil {
			t.Fatalf("encoding/csv refuses %q: %v", text, err)
		}
		if len(want) != len(got) {
			t.Fatalf("%d rows, encoding/csv has %d", len(got), len(want))
		}
		for i := range want {
			if !slices.Equal(want[i], got[i].fields) {
				t.Fatalf("row %d: %q, encoding/csv has %q", i, got[i].fields, want[i])
			}
		}
	})
}

// FuzzRowsAccept checks the other direction: no row of an input that encoding/csv accepts is
// rejected.
func FuzzRowsAccept(f *testing.F) {
	f.Add([]byte("a,\"b\n\"\n"))
	f.Add([]byte("\"\"\"\",\r\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r := csv.NewReader(bytes.NewReader(text))
		r.FieldsPerRecord = -1
		if _, err := r.ReadAll(); err != nil || bytes.HasPrefix(text, []byte(byteOrderMark)) {
			return
		}
		for _, row := range cutAll(t, csvRows(bytes.NewReader(text), 1<<20)) {
			if row.reason != "" {
				t.Fatalf("line %d %q is rejected: %s", row.line, row.raw, row.reason)
			}
		}
	})
}

// checkNothingLost checks that every line of text is blank or belongs to exactly one row.
func checkNothingLost(t *testing.T, text []byte, got []cutRow) {
	t.Helper()
	text = bytes.TrimPrefix(text, []byte(byteOrderMark))
	line := 1
	for _, row := range got {
		for line < row.line {
			blank, rest, _ := bytes.Cut(text, []byte("\n"))
			if len(bytes.TrimSuffix(blank, []byte("\r"))) > 0 {
				t.Fatalf("line %d %q is in no row", line, blank)
			}
			text, line = rest, line+1
		}
		if !bytes.HasPrefix(text, []byte(row.raw)) {
			t.Fatalf("row at line %d is %q, the input has %q there", row.line, row.raw, text)
		}
		rest := text[row.size:]
		if int64(len(row.raw)) == row.size {
			rest = bytes.TrimPrefix(rest, []byte("\r"))
		}
		if len(rest) > 0 && rest[0] != '\n' {
			t.Fatalf("row at line %d ends before %q", row.line, rest)
		}
		line += 1 + bytes.Count(text[:row.size], []byte("\n"))
		text = bytes.TrimPrefix(rest, []byte("\n"))
	}
	if rest := bytes.Trim(text, "\r\n"); len(rest) > 0 {
		t.Fatalf("%q is in no row", rest)
	}
}
