package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"google.golang.org/protobuf/encoding/prototext"
)

// readRow is a row that was read, as text.
type readRow struct{ raw, text string }

// readRows returns the rows of an input, and the last error. ahead reads them ahead.
func readRows(t testing.TB, in io.Reader, opt Options, ahead bool) (list []readRow, err error) {
	t.Helper()
	r, err := NewReader(in, opt)
	if err != nil {
		return nil, err
	}
	if ahead {
		defer r.ReadAhead()()
	}
	for {
		row, err := r.Next()
		if err != nil {
			if _, again := r.Next(); again != err {
				t.Errorf("then %v, first %v", again, err)
			}
			return list, err
		}
		text := fmt.Sprintf("%d %d %v %q", row.Line, row.Size, row.Derived, row.Raw)
		if row.Err != nil {
			text += row.Err.Error()
		}
		for _, e := range row.Events {
			text += prototext.Format(e)
		}
		list = append(list, readRow{string(row.Raw), text})
	}
}

// aheadOptions returns options of each format with columns.
func aheadOptions(format byte) Options {
	opt := []Options{
		{Format: FormatCSV, Account: "a", Currency: "USD", PriceUnit: "micros", Map: map[string]string{"campaign": "c", "time": "t", "price": "p"}},
		{Format: FormatJSONL, Account: "a", Currency: "USD"},
		{Format: FormatIPinYou},
	}[format%3]
	opt.MaxRowBytes, opt.Now = 300, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	return opt
}

// FuzzAhead: rows that are read ahead are the same rows, and with Only all rows that may be wanted
// are there.
func FuzzAhead(f *testing.F) {
	f.Add(byte(0), []byte("c,t,p\nx,1370449800,5\n\"\nx,1,2\ny,1370449800,5\ny,1370449800,5\n\"a\nx\",1370449800,5\n\"x\"\"y\",1370449800,5\n"))
	f.Add(byte(0), []byte("c,t,p\n"+strings.Repeat("x,1370449800,5\ny,1370449801,5\n", 700)))
	f.Add(byte(1), []byte(goodJSON+"\n{}\n\n x"))
	f.Add(byte(2), []byte(strings.Repeat("1\t", 23)+"1\n"))
	f.Fuzz(func(t *testing.T, format byte, text []byte) {
		opt := aheadOptions(format)
		want, err := readRows(t, bytes.NewReader(text), opt, false)
		got, errAhead := readRows(t, bytes.NewReader(text), opt, true)
		if !slices.Equal(got, want) || fmt.Sprint(errAhead) != fmt.Sprint(err) {
			t.Errorf("read ahead:\n%q %v\nwant\n%q %v", got, errAhead, want, err)
		}
		opt.Only = func(line []byte) bool { return bytes.Contains(line, []byte("x")) }
		some, errOnly := readRows(t, bytes.NewReader(text), opt, format%2 == 1)
		if fmt.Sprint(errOnly) != fmt.Sprint(err) {
			t.Errorf("with Only the error is %v, want %v", errOnly, err)
		}
		for _, row := range want {
			switch {
			case len(some) > 0 && some[0] == row:
				some = some[1:]
			case strings.Contains(row.raw, "x"):
				t.Errorf("a row is left out: %q", row)
			}
		}
		if len(some) > 0 {
			t.Errorf("rows that the input does not have: %q", some)
		}
	})
}

// TestAheadErrors: an input that breaks off ends with its error and line, and a reader that is no
// longer needed ends its goroutine, whatever was read.
func TestAheadErrors(t *testing.T) {
	broken := errors.New("broken")
	text := "c,t,p\n" + strings.Repeat("x,1370449800,5\n", 3000)
	in := io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken))
	rows, err := readRows(t, in, aheadOptions(0), true)
	if len(rows) != 3000 || !errors.Is(err, broken) || !strings.Contains(err.Error(), "after line 3001") {
		t.Errorf("%d rows, error %v", len(rows), err)
	}
	for _, n := range []int{0, 1, 600, 3000} {
		r, err := NewReader(strings.NewReader(text), aheadOptions(0))
		if err != nil {
			t.Fatal(err)
		}
		end := r.ReadAhead()
		for range n {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		end()
	}
}
