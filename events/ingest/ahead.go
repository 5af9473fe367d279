package ingest

// Bounds of a batch of rows that are read ahead.
const (
	aheadRows  = 512
	aheadBytes = 256 << 10
	aheadLines = 64 << 10 // of the input, those that Options.Only leaves out included
	aheadMany  = 4        // batches
)

// ahead reads rows on a goroutine of its own, in batches.
type ahead struct {
	full, free chan *aheadBatch
	stop       chan struct{}
	at         *aheadBatch // from which rows are taken; nil: none yet
	next       int
}

// aheadBatch is some rows, and then the error, if there is one, and the line behind which it is.
type aheadBatch struct {
	rows    []rawRow
	raw     []byte
	columns []string
	err     error
	line    int
}

// ReadAhead reads and splits rows on a goroutine of its own from now on, so that Next has less to
// do. Call the function that it returns when no further row is needed.
func (r *Reader) ReadAhead() (end func()) {
	a := &ahead{full: make(chan *aheadBatch, aheadMany), free: make(chan *aheadBatch, aheadMany), stop: make(chan struct{})}
	for range aheadMany {
		a.free <- &aheadBatch{}
	}
	ended := make(chan struct{})
	go func() {
		a.read(r.rows)
		close(ended)
	}()
	r.ahead = a
	return func() {
		close(a.stop)
		<-ended
	}
}

// read fills batches until an error or the end.
func (a *ahead) read(rows *rowReader) {
	for {
		select {
		case b := <-a.free:
			b.fill(rows)
			a.full <- b // there is room for all batches
			if b.err != nil {
				return
			}
		case <-a.stop:
			return
		}
	}
}

// fill reads rows.
func (b *aheadBatch) fill(rows *rowReader) {
	b.rows, b.raw, b.columns = b.rows[:0], b.raw[:0], b.columns[:0]
	for first := rows.line; len(b.rows) < aheadRows && len(b.raw) < aheadBytes && rows.line-first < aheadLines; {
		row, err := rows.next()
		if err != nil {
			b.err, b.line = err, rows.line
			return
		}
		kept := *row
		// Slices of an array that append has replaced stay as they are.
		at := len(b.raw)
		b.raw = append(b.raw, row.raw...)
		kept.raw = b.raw[at:len(b.raw):len(b.raw)]
		if row.columns != nil {
			at := len(b.columns)
			b.columns = append(b.columns, row.columns...)
			kept.columns = b.columns[at:len(b.columns):len(b.columns)]
		}
		b.rows = append(b.rows, kept)
	}
}

// row returns the next row, and the number of lines before an error.
func (a *ahead) row() (row *rawRow, line int, err error) {
	for a.at == nil || a.next == len(a.at.rows) {
		if a.at != nil {
			if a.at.err != nil {
				return nil, a.at.line, a.at.err
			}
			a.free <- a.at // there is room for all batches
		}
		a.at, a.next = <-a.full, 0
	}
	a.next++
	return &a.at.rows[a.next-1], 0, nil
}
