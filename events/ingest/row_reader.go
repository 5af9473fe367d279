package ingest

import (
	"bytes"
	"errors"

	"github.com/weirhq/weir/stream"
)

// keptOfLongRow is the number of bytes of a row over the limit that the rejects file keeps, to
// recognise the row by.
const keptOfLongRow = 4 << 10

// byteOrderMark begins the UTF-8 files of some spreadsheets.
const byteOrderMark = "\ufeff"

// rawRow is one row before it is parsed.
type rawRow struct {
	line    int      // number of the row's first line in the input, from 1
	number  uint64   // number of the row, from 1; headers and blank lines are not rows
	raw     []byte   // without the line end; only the beginning if size is greater
	size    int64    // bytes of the whole row without the line end
	columns []string // nil for formats without columns
	err     *stream.RejectError
}

// rowReader cuts an input into rows. A returned row is valid until the next call.
type rowReader struct {
	in    *lineReader
	split splitter               // nil: every line is a row without columns
	blank func(line []byte) bool // reports lines that are not rows
	only  func(line []byte) bool // Options.Only
	// quotes is whether a quoted column may contain line ends.
	quotes bool
	row    rawRow
	line   int // lines consumed
	count  uint64
	begun  bool   // the byte order mark was looked for
	long   []byte // beginning of a row over the limit
}

// next returns the next row, with a rejection if the row cannot be split. The error after the last
// row is io.EOF.
func (s *rowReader) next() (*rawRow, error) {
	for {
		n, err := s.in.peek(0)
		if !s.begun && s.in.skip(byteOrderMark) {
			s.begun = true
			continue
		}
		s.begun = true
		if err != nil {
			if errors.Is(err, errTooLong) {
				return s.tooLong()
			}
			return nil, err
		}
		line := trimLineEnd(s.in.bytes(n))
		switch {
		case s.blank(line):
		case s.only != nil && !s.only(line) && (!s.quotes || bytes.Count(line, []byte{'"'})%2 == 0):
			s.count++
		default:
			return s.cut(n)
		}
		s.in.consume(n)
		s.line++
	}
}

// cut makes a row that begins with the line of n bytes. A row spans several lines if a quoted
// column contains line ends. If the quotes turn out to be broken, only the first line is rejected
// and the next row begins on the second line: a stray quote costs its own line and not everything
// up to the next quote.
//
// The work is linear in the input all the same. A line with an odd number of quotes begins the
// look-ahead and the next line with an odd number ends it. No line between the two can begin
// another look-ahead.
func (s *rowReader) cut(n int) (*rawRow, error) {
	if s.split == nil {
		return s.take(n, 1, nil, nil), nil
	}
	columns, err := s.split.split(s.in.bytes(n))
	if err != errOpenQuote {
		return s.take(n, 1, columns, err), nil
	}
	size, lines := n, 1
	for odd := false; !odd; lines++ {
		more, readErr := s.in.peek(size)
		if isEOF(readErr) || errors.Is(readErr, errTooLong) {
			return s.take(n, 1, nil, errOpenQuote), nil
		}
		if readErr != nil {
			return nil, readErr
		}
		odd = bytes.Count(s.in.bytes(size + more)[size:], []byte{'"'})%2 == 1
		size += more
	}
	if columns, err = s.split.split(s.in.bytes(size)); err != nil {
		return s.take(n, 1, nil, err), nil
	}
	return s.take(size, lines, columns, nil), nil
}

// take consumes a row of n bytes that spans the given number of lines.
func (s *rowReader) take(n, lines int, columns []string, err *stream.RejectError) *rawRow {
	raw := trimLineEnd(s.in.bytes(n))
	s.count++
	s.row = rawRow{line: s.line + 1, number: s.count, raw: raw, size: int64(len(raw)), columns: columns, err: err}
	s.in.consume(n)
	s.line += lines
	return &s.row
}

// tooLong consumes a line over the limit and keeps its beginning.
func (s *rowReader) tooLong() (*rawRow, error) {
	s.long = append(s.long[:0], s.in.bytes(min(keptOfLongRow, s.in.max))...)
	size, ended, err := s.in.discardLine()
	if err != nil {
		return nil, err
	}
	if ended {
		size--
	}
	s.count++
	s.line++
	s.row = rawRow{
		line: s.line, number: s.count, raw: s.long, size: size,
		err: reject(ReasonTooLong, "the row has %d bytes and %d are allowed: check that the file and the format are right", size, s.in.max),
	}
	return &s.row, nil
}
