package ingest

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"strings"

	"github.com/weirhq/weir/stream"
)

// splitter splits a row into columns.
type splitter interface {
	// split returns the columns of row, which includes its line end. They are valid until the next
	// call.
	split(row []byte) ([]string, *stream.RejectError)
}

// tabSplitter splits at tabs. A quote has no meaning, as in the iPinYou log.
type tabSplitter struct{}

func (tabSplitter) split(row []byte) ([]string, *stream.RejectError) {
	return strings.Split(string(trimLineEnd(row)), "\t"), nil
}

// csvSplitter splits by encoding/csv (RFC 4180, strict quotes), one row at a time.
//
// encoding/csv does not read the whole input, because three promises of this package need the
// boundaries of a row first. encoding/csv buffers a record without a limit. It does not return the
// bytes of a record, which event ids are derived from and which the rejects file keeps. After a
// quote that never closes it has consumed the rest of the input.
type csvSplitter struct {
	row    bytes.Reader
	in     *bufio.Reader
	csv    *csv.Reader
	closed []byte // a row and a quote
}

func newCSVSplitter(delimiter byte) *csvSplitter {
	s := &csvSplitter{}
	s.in = bufio.NewReader(&s.row)
	s.csv = csv.NewReader(s.in) // uses s.in itself: its reset begins another row
	s.csv.Comma = rune(delimiter)
	s.csv.FieldsPerRecord = -1
	s.csv.ReuseRecord = true
	return s
}

// errOpenQuote rejects a row that ends inside a quoted column. The column may continue in the next
// line.
var errOpenQuote = &stream.RejectError{
	Reason: ReasonQuote,
	Detail: `a quote opens in this line and never closes: close it, and write a quote inside a quoted column as ""`,
}

func (s *csvSplitter) split(row []byte) ([]string, *stream.RejectError) {
	columns, err := s.read(row)
	if err == nil {
		return columns, nil
	}
	column := len(columns) + 1
	if errors.Is(err, csv.ErrBareQuote) {
		return nil, reject(ReasonQuote, "column %d contains a quote but is not quoted: quote the column and double the quote", column)
	}
	// encoding/csv has one error for a quote that never closes and for one that closes too early.
	// One more quote completes a row with the first mistake only.
	s.closed = append(append(s.closed[:0], trimLineEnd(row)...), '"')
	if _, err := s.read(s.closed); err == nil {
		return nil, errOpenQuote
	}
	return nil, reject(ReasonQuote, "column %d continues after its closing quote: double the quotes inside the column", column)
}

func (s *csvSplitter) read(row []byte) ([]string, error) {
	s.row.Reset(row)
	s.in.Reset(&s.row)
	return s.csv.Read()
}

// trimLineEnd removes the line end, \n or \r\n, or a \r that ends the input.
func trimLineEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}
