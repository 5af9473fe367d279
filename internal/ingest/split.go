package ingest

import "bytes"

// splitter cuts a row into columns. The columns are valid until the next split and as long as the row is.
type splitter interface {
	split(row []byte) *Rejection
	columns() [][]byte
}

// tabs splits at tabs, and nothing is quoted: how the iPinYou log is written.
type tabs struct{ cols [][]byte }

func (t *tabs) columns() [][]byte { return t.cols }

func (t *tabs) split(row []byte) *Rejection {
	t.cols = splitAt(t.cols[:0], row, '\t')
	return nil
}

// quoted splits as encoding/csv does (RFC 4180, strict quotes), without its allocations.
type quoted struct {
	comma   byte
	cols    [][]byte
	scratch []byte // columns whose bytes differ from the row's
}

func (q *quoted) columns() [][]byte { return q.cols }

// errOpenQuote: the row may go on in the next line.
var errOpenQuote = &Rejection{
	Reason: ReasonQuote,
	Detail: `a quote opens in this line and never closes: close it, and write a quote inside a quoted column as ""`,
}

func (q *quoted) split(row []byte) *Rejection {
	q.cols = q.cols[:0]
	if bytes.IndexByte(row, '"') < 0 {
		q.cols = splitAt(q.cols, row, q.comma)
		return nil
	}
	q.scratch = q.scratch[:0]
	for rest := row; ; {
		if len(rest) > 0 && rest[0] == '"' {
			n, err := q.quotedColumn(rest)
			if err != nil {
				return err
			}
			if n == len(rest) {
				return nil
			}
			rest = rest[n+1:]
			continue
		}
		col, after, more := bytes.Cut(rest, []byte{q.comma})
		if bytes.IndexByte(col, '"') >= 0 {
			return reject(ReasonQuote, "column %d has a quote inside but is not quoted: quote the column and double the quote", len(q.cols)+1)
		}
		q.cols = append(q.cols, col)
		if !more {
			return nil
		}
		rest = after
	}
}

// quotedColumn appends the column that begins with a quote and returns its length in b, quotes included.
func (q *quoted) quotedColumn(b []byte) (int, *Rejection) {
	from, plain := len(q.scratch), true
	for i := 1; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0, errOpenQuote
		}
		part := b[i : i+n]
		i += n + 1 // behind the quote
		ends := i == len(b) || b[i] == q.comma
		if ends && plain && bytes.IndexByte(part, '\n') < 0 {
			q.cols = append(q.cols, part)
			return i, nil
		}
		q.scratch = appendUnix(q.scratch, part)
		if ends {
			q.cols = append(q.cols, q.scratch[from:len(q.scratch):len(q.scratch)])
			return i, nil
		}
		if b[i] != '"' {
			return 0, reject(ReasonQuote, "column %d goes on behind its closing quote: double the quotes inside it", len(q.cols)+1)
		}
		q.scratch = append(q.scratch, '"')
		i++
		plain = false
	}
}

// appendUnix appends b with \r\n as \n, as encoding/csv reads line ends inside quotes.
func appendUnix(dst, b []byte) []byte {
	for {
		i := bytes.Index(b, []byte("\r\n"))
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		b = b[i+1:]
	}
}

func splitAt(dst [][]byte, row []byte, sep byte) [][]byte {
	for {
		i := bytes.IndexByte(row, sep)
		if i < 0 {
			return append(dst, row)
		}
		dst = append(dst, row[:i])
		row = row[i+1:]
	}
}
