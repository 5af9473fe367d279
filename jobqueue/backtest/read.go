package backtest

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weirhq/weir/jobqueue"
)

// Options is how a trace is read. Its zero value works.
type Options struct {
	// Resource is the column of the Standard Workload Format whose value is the resource that a
	// job prefers: one of Columns. Defaults to site.
	Resource string
	// Limit is the maximum number of jobs: the first ones of the file are read. A million jobs
	// take about 100 MB with one policy, and 30 MB for each further one that is run at the same
	// time. Defaults to 1,000,000.
	Limit int
}

// maxLine is the maximum length of a line, in bytes.
const maxLine = 64 << 10

// Read reads a trace: lines of the Standard Workload Format, or JSON lines, if the first line that
// is not blank begins with a brace. A line that is not usable is counted. The error wraps ErrTrace
// if there is no usable job, ErrConfig if an option is not possible, or the error of in.
func Read(in io.Reader, o Options) (*Trace, error) {
	r := reader{lines: bufio.NewReaderSize(in, maxLine), classes: map[string]int32{}}
	col, err := columnOf(cmp.Or(o.Resource, "site"))
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(o.Limit, 1_000_000)
	t := &r.trace
	for {
		line, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			if len(line) == 0 || line[0] == ';' { // a comment of the Standard Workload Format
				continue
			}
			if t.Cut = len(t.Jobs) == limit; t.Cut {
				break
			}
			err = r.add(line, col)
		} else if !errors.Is(err, errLong) {
			return nil, err
		}
		if err != nil {
			if t.Bad++; t.Bad == 1 {
				t.FirstBad = fmt.Sprintf("line %d: %v", t.Lines, err)
			}
		}
	}
	if len(t.Jobs) == 0 {
		return nil, t.nothing()
	}
	t.sort()
	return t, nil
}

// nothing returns the error of a trace without jobs.
func (t *Trace) nothing() error {
	if t.Bad == 0 {
		return fmt.Errorf("%w: %d lines, and none of them has a job", ErrTrace, t.Lines)
	}
	return fmt.Errorf("%w: of %d lines none is a job; %s", ErrTrace, t.Lines, t.FirstBad)
}

// sort sorts jobs by arrival, and makes times begin with the first one.
func (t *Trace) sort() {
	byArrival := func(a, b Job) int { return cmp.Compare(a.AtMs, b.AtMs) }
	if t.Unsorted = !slices.IsSortedFunc(t.Jobs, byArrival); t.Unsorted {
		slices.SortStableFunc(t.Jobs, byArrival)
	}
	first := t.Jobs[0].AtMs
	for i := range t.Jobs {
		t.Jobs[i].AtMs -= first
	}
}

// reader is a trace that is read.
type reader struct {
	lines   *bufio.Reader
	parse   func(line []byte) (row, error)
	trace   Trace
	classes map[string]int32
	key     []byte
}

// row is a parsed line.
type row struct {
	at, run         int64 // ms
	require, prefer []string
	priority        uint8
}

// errLong means that a line is longer than maxLine.
var errLong = errors.New("the line has more than 65,536 bytes")

// next returns the next line without the space around it. The error is io.EOF, errLong, or that of
// the input.
func (r *reader) next() ([]byte, error) {
	line, err := r.lines.ReadSlice('\n')
	long := false
	for ; errors.Is(err, bufio.ErrBufferFull); line, err = r.lines.ReadSlice('\n') {
		long = true
	}
	if err != nil && !(errors.Is(err, io.EOF) && (len(line) > 0 || long)) {
		return nil, err
	}
	r.trace.Lines++
	if long {
		return nil, errLong
	}
	return bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\ufeff"))), nil
}

// add adds the job of a line. The first line decides the format. The error is why the line is not
// usable.
func (r *reader) add(line []byte, col column) error {
	if r.parse == nil {
		r.parse = col.parse
		if line[0] == '{' {
			r.parse = parseJSON
		}
	}
	x, err := r.parse(line)
	if err != nil {
		return err
	}
	switch {
	case x.at < 0 || x.at > maxAtMs:
		return fmt.Errorf("an arrival at %d ms, and 0 to %d are possible", x.at, int64(maxAtMs))
	case x.run < 0 || x.run > maxRunMs:
		return fmt.Errorf("a run time of %d ms, and 0 to %d are possible", x.run, int64(maxRunMs))
	}
	class, err := r.class(&x)
	if err != nil {
		return err
	}
	r.trace.Jobs = append(r.trace.Jobs, Job{AtMs: x.at, RunMs: x.run, Class: class})
	return nil
}

// class returns the class of a row.
func (r *reader) class(x *row) (int32, error) {
	r.key = append(r.key[:0], x.priority)
	for _, list := range [2]*[]string{&x.require, &x.prefer} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
		r.key = binary.AppendUvarint(r.key, uint64(len(*list)))
		for _, name := range *list {
			r.key = append(binary.AppendUvarint(r.key, uint64(len(name))), name...)
		}
	}
	if n, ok := r.classes[string(r.key)]; ok {
		return n, nil
	}
	spec := jobqueue.Spec{Require: x.require, Prefer: x.prefer, Priority: x.priority}
	if err := spec.Validate(); err != nil {
		return 0, err
	}
	n := int32(len(r.trace.Classes))
	r.classes[string(r.key)] = n
	r.trace.Classes = append(r.trace.Classes, spec)
	return n, nil
}
