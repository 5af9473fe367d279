package ingest

import (
	"bytes"
	"errors"
)

// keptOfLongRow is how much of a row that is too long goes to the rejects, to recognise it by.
const keptOfLongRow = 4 << 10

// rawRow is one row before any meaning is read into it.
type rawRow struct {
	line   int      // number of its first physical line, from 1
	number uint64   // its place among the rows, from 1; headers and blank lines are no rows
	raw    []byte   // without its line end; only the first bytes where size says there were more
	size   int64    // bytes of the whole row, its line end excluded
	fields [][]byte // of formats with columns
	err    *Rejection
}

// rows cuts an input into rows. What it returns is valid until the next call.
type rows struct {
	in    *lines
	split splitter               // nil: a row is a line without columns
	blank func(line []byte) bool // lines that are no rows
	row   rawRow
	line  int // physical lines consumed
	count uint64
	begun bool // behind the byte order mark
	long  []byte
}

// next returns the next row, with its rejection where it cannot even be cut; io.EOF after the last one.
func (s *rows) next() (*rawRow, error) {
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
		if !s.blank(trimEnd(s.in.bytes(n))) {
			return s.cut(n)
		}
		s.in.consume(n)
		s.line++
	}
}

// byteOrderMark is what some spreadsheets begin a UTF-8 file with.
const byteOrderMark = "\ufeff"

// cut makes a row that begins with the line of n bytes. A quoted line end lets a row go on over lines. Where the quotes
// turn out broken, only the first line is rejected and the next row begins on the second: a stray quote costs its own
// line, not everything up to the next quote. The rescan is linear all the same: a line with an odd number of quotes
// opens such a row and the next one with an odd number ends it, and no line between them can open one.
func (s *rows) cut(n int) (*rawRow, error) {
	if s.split == nil {
		return s.take(n, 1, nil), nil
	}
	err := s.split.split(trimEnd(s.in.bytes(n)))
	if err != errOpenQuote {
		return s.take(n, 1, err), nil
	}
	size, physical := n, 1
	for odd := false; !odd; physical++ {
		more, readErr := s.in.peek(size)
		if isEnd(readErr) || errors.Is(readErr, errTooLong) {
			return s.take(n, 1, errOpenQuote), nil
		}
		if readErr != nil {
			return nil, readErr
		}
		odd = bytes.Count(s.in.bytes(size + more)[size:], []byte{'"'})%2 == 1
		size += more
	}
	if err = s.split.split(trimEnd(s.in.bytes(size))); err != nil {
		return s.take(n, 1, err), nil
	}
	return s.take(size, physical, nil), nil
}

// take consumes a row of n bytes.
func (s *rows) take(n, physical int, err *Rejection) *rawRow {
	raw := trimEnd(s.in.bytes(n))
	s.count++
	s.row = rawRow{line: s.line + 1, number: s.count, raw: raw, size: int64(len(raw)), err: err}
	if s.split != nil && err == nil {
		s.row.fields = s.split.columns()
	}
	s.in.consume(n)
	s.line += physical
	return &s.row
}

// tooLong consumes a line that is longer than a row may be and keeps its beginning.
func (s *rows) tooLong() (*rawRow, error) {
	s.long = append(s.long[:0], s.in.bytes(keptOf(s.in.max))...)
	size, ended, err := s.in.discard()
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
		err: reject(ReasonTooLong, "the row has %d bytes and %d are allowed: is this the right file and format?", size, s.in.max),
	}
	return &s.row, nil
}

func keptOf(limit int) int { return min(keptOfLongRow, limit) }

// trimEnd cuts the line end off, \n or \r\n.
func trimEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte{'\n'})
	return bytes.TrimSuffix(line, []byte{'\r'})
}
