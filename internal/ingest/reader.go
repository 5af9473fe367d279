package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/weirhq/weir/events/eventspb"
)

// Row is one row of the input. All of it is valid until the next call of Next: who keeps an event clones it.
type Row struct {
	// Line is the number of the row's first line, from 1; a quoted line end counts.
	Line int
	// Raw is the row without its line end. Of a row that is too long it is the beginning.
	Raw []byte
	// Size is the number of bytes of the whole row; greater than len(Raw) only where the row is too long.
	Size int64
	// Events are the row's events: one, or an impression and a click. None if Err is set.
	Events []*eventspb.AdEvent
	// Derived says that the event ids were derived, and so are unique in this input.
	Derived bool
	// Err is why the row gave no events.
	Err *Rejection
}

// parser reads a row of one format into a draft that is zero before.
type parser interface {
	parse(row *rawRow, d *draft) *Rejection
}

// Reader reads rows. It is for one goroutine.
type Reader struct {
	in    io.Reader
	rows  *rows
	parse parser
	build *builder
	draft draft
	err   error
}

// NewReader returns a reader of r by opt. It reads the header where the format has one, so that a map that does not
// fit is known before the first event. An error of opt wraps ErrUsage.
func NewReader(r io.Reader, opt Options) (*Reader, error) {
	set, err := opt.settings()
	if err != nil {
		return nil, err
	}
	x := &Reader{in: r, build: newBuilder(set)}
	x.rows = &rows{in: newLines(r, set.MaxRowBytes), blank: isEmpty}
	switch set.Format {
	case FormatIPinYou:
		x.rows.split = &tabs{}
		x.parse, err = newIPinYou(x.rows, x.build)
	case FormatOpenBandit, FormatCSV:
		x.rows.split = &quoted{comma: set.Delimiter}
		x.parse, err = newTable(x.rows, x.build)
	case FormatJSONL:
		x.rows.blank = isSpace
		x.parse = newJSONL()
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

// Next returns the next row, with its events or why it has none. The error is io.EOF after the last row; any other says
// that the input could not be read further, and the rows returned so far stand.
func (r *Reader) Next() (Row, error) {
	if r.err != nil {
		return Row{}, r.err
	}
	raw, err := r.rows.next()
	if err != nil {
		if r.err = err; !isEnd(err) {
			r.err = fmt.Errorf("ingest: behind line %d: %w", r.rows.line, err)
		}
		return Row{}, r.err
	}
	row := Row{Line: raw.line, Raw: raw.raw, Size: raw.size, Err: raw.err}
	if row.Err == nil {
		r.draft = draft{}
		row.Err = r.parse.parse(raw, &r.draft)
	}
	if row.Err == nil {
		row.Events, row.Derived, row.Err = r.build.build(raw, &r.draft)
	}
	return row, nil
}

// header takes the first row as the names of the columns.
func (s *rows) header() ([]string, error) {
	row, err := s.next()
	switch {
	case isEnd(err):
		return nil, errors.New("ingest: the input is empty and should begin with a header row")
	case err != nil:
		return nil, fmt.Errorf("ingest: header row: %w", err)
	case row.err != nil:
		return nil, fmt.Errorf("ingest: header row: %w", row.err)
	}
	s.count = 0
	names := make([]string, len(row.fields))
	for i, name := range row.fields {
		names[i] = string(bytes.TrimSpace(name))
	}
	return names, nil
}

func isEmpty(line []byte) bool { return len(line) == 0 }

func isSpace(line []byte) bool { return len(bytes.TrimSpace(line)) == 0 }
