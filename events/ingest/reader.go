package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// Row is one row of the input. It is valid until the next call of Next: a caller that keeps an
// event clones it.
type Row struct {
	// Line is the number of the row's first line in the input, from 1. Line ends inside quotes
	// count.
	Line int
	// Raw is the row without its line end. Of a row over Options.MaxRowBytes it is the beginning.
	Raw []byte
	// Size is the number of bytes of the whole row. It exceeds len(Raw) only if the row is over
	// Options.MaxRowBytes.
	Size int64
	// Events are the row's events: one event, or an impression and its click. Empty if Err is set.
	Events []*eventspb.AdEvent
	// Derived reports whether the event ids were derived from the row. Derived ids are unique in
	// the input.
	Derived bool
	// Adjustment is the row's adjustment, of a reader of adjustments. Nil if Err is set.
	Adjustment *eventspb.Adjustment
	// Repeated reports whether the adjustment is the same as that of an earlier row.
	Repeated bool
	// Err is the reason why the row has no events and no adjustment, nil if it has.
	Err *stream.RejectError
}

// parser parses rows of one format.
type parser interface {
	// parse fills d, which holds the defaults of Options, from row.
	parse(row *rawRow, d *draft) *stream.RejectError
}

// Reader reads the rows of an input. It must not be used by several goroutines at once.
type Reader struct {
	in    io.Reader
	rows  *rowReader
	ahead *ahead                                          // nil: Next reads rows
	fill  func(raw *rawRow, row *Row) *stream.RejectError // sets what the row holds
	err   error
}

// eventMaker fills rows with events.
type eventMaker struct {
	parser  parser
	builder *builder
	draft   draft
}

// NewReader returns a reader of r. It reads the header if the format has one, so that a column map
// that does not fit fails before the first event. An error about opt, or about opt and the header,
// wraps ErrUsage.
func NewReader(r io.Reader, opt Options) (*Reader, error) {
	set, err := opt.settings()
	if err != nil {
		return nil, err
	}
	m := &eventMaker{builder: newBuilder(set)}
	x := &Reader{in: r, fill: m.fill}
	x.rows = &rowReader{in: newLineReader(r, set.MaxRowBytes), blank: isEmpty}
	switch set.Format {
	case FormatIPinYou:
		x.rows.split = tabSplitter{}
		m.parser, err = newIPinYouParser(x.rows, m.builder)
	case FormatOpenBandit, FormatCSV:
		x.rows.split, x.rows.quotes = newCSVSplitter(set.Delimiter), true
		m.parser, err = newTableParser(x.rows, m.builder)
	case FormatJSONL:
		x.rows.blank = isSpace
		m.parser = newJSONLParser()
	}
	if err != nil {
		return nil, err
	}
	x.rows.only = set.Only // behind the header
	return x, nil
}

// Next returns the next row, with what it holds or with the reason why it holds nothing. The error
// is io.EOF after the last row. Any other error means that the input could not be read further; the
// rows returned before remain valid results.
func (r *Reader) Next() (Row, error) {
	if r.err != nil {
		return Row{}, r.err
	}
	raw, line, err := r.nextRow()
	if err != nil {
		if r.err = err; !isEOF(err) {
			r.err = fmt.Errorf("ingest: after line %d: %w", line, err)
		}
		return Row{}, r.err
	}
	row := Row{Line: raw.line, Raw: raw.raw, Size: raw.size, Err: raw.err}
	if row.Err == nil {
		row.Err = r.fill(raw, &row)
	}
	return row, nil
}

func (r *Reader) nextRow() (row *rawRow, line int, err error) {
	if r.ahead != nil {
		return r.ahead.row()
	}
	row, err = r.rows.next()
	return row, r.rows.line, err
}

func (m *eventMaker) fill(raw *rawRow, row *Row) (err *stream.RejectError) {
	m.draft = m.builder.newDraft()
	if err = m.parser.parse(raw, &m.draft); err == nil {
		row.Events, row.Derived, err = m.builder.build(raw, &m.draft)
	}
	return err
}

// header reads the first row as the names of the columns.
func (s *rowReader) header() ([]string, error) {
	row, err := s.next()
	switch {
	case isEOF(err):
		return nil, errors.New("ingest: the input is empty: it must begin with a header row")
	case err != nil:
		return nil, fmt.Errorf("ingest: header row: %w", err)
	case row.err != nil:
		return nil, fmt.Errorf("ingest: header row: %w", row.err)
	}
	s.count = 0
	names := make([]string, len(row.columns))
	for i, name := range row.columns {
		names[i] = strings.TrimSpace(name)
	}
	return names, nil
}

func isEmpty(line []byte) bool { return len(line) == 0 }

func isSpace(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }
