package admin

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// read reads the lines into batches. Of the lines that earlier runs have read, it reads those whose
// number is in again.
func (im *importer) read(ctx context.Context, in io.Reader, again map[int64]bool, to chan<- batch) error {
	b := batch{first: im.earlier.lines, lines: map[string]int64{}}
	send := func(next int64) error {
		b.next = next
		select {
		case to <- b:
			b = batch{first: next, lines: map[string]int64{}}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	end := int64(0)
	err := EachLine(in, func(line int64, name string) error {
		end = max(line+1, im.earlier.lines)
		if err := im.add(&b, line, name, line < im.earlier.lines && !again[line+1]); err != nil {
			return err
		}
		if len(b.items) == table.MaxInsert || line-b.first > 100*table.MaxInsert {
			return send(end)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return send(end)
}

// EachLine calls fn for each line of a file of names, counted from 0, until fn returns an error.
// Blanks around a name and a byte order mark are removed. Of a line of more than 64 KiB, which is
// not a valid name, fn gets the beginning.
func EachLine(in io.Reader, fn func(line int64, name string) error) error {
	lines := bufio.NewReaderSize(in, 1<<16)
	for line := int64(0); ; line++ {
		name, err := readLine(lines)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read line %d: %w", line+1, err)
		}
		if err := fn(line, strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))); err != nil {
			return err
		}
	}
}

// readLine reads a line; of a line that exceeds the buffer only the beginning. After the last line
// it returns io.EOF.
func readLine(from *bufio.Reader) (string, error) {
	text, err := from.ReadSlice('\n')
	line := string(text)
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = from.ReadSlice('\n')
	}
	if errors.Is(err, io.EOF) && line != "" {
		err = nil
	}
	return line, err
}

// add adds the item of a line to a batch. A line that an earlier run has imported is only counted.
// An invalid name is reported by each run.
func (im *importer) add(b *batch, line int64, name string, imported bool) error {
	err := lease.CheckName("resource", name, lease.MaxKey)
	if err == nil {
		err = lease.CheckVisible("resource", name)
	}
	switch {
	case name != "" && err != nil:
		return im.reject(RejectedLine{Line: line + 1, Text: name, Err: err})
	case imported:
		im.count(func(s *ImportProgress) { s.Lines++; s.Earlier++ })
	case name == "":
		im.count(func(s *ImportProgress) { s.Lines++; s.Blank++ })
	case b.lines[name] > 0:
		im.count(func(s *ImportProgress) { s.Lines++; s.Existing++ })
	default:
		b.lines[name] = line + 1
		b.items = append(b.items, im.a.newResourceItem(name, &im.pool, im.from.Region))
	}
	return nil
}

// reject counts and reports a line for which no resource is added.
func (im *importer) reject(r RejectedLine) error {
	im.count(func(s *ImportProgress) { s.Lines++; s.Rejected++ })
	if im.from.Rejected == nil {
		return nil
	}
	im.reporting.Lock()
	defer im.reporting.Unlock()
	return im.from.Rejected(r)
}
