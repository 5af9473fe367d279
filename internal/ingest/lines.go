package ingest

import (
	"bytes"
	"errors"
	"io"
)

const (
	firstBuffer   = 256 << 10
	maxEmptyReads = 100
)

var errTooLong = errors.New("line too long")

// isEnd says that err is the end of the input. A reader ends with io.EOF itself: an error that wraps it, of a
// connection that was lost, say, is a failure, and to take it for the end would lose the rest without a word.
func isEnd(err error) bool {
	return err == io.EOF //nolint:errorlint // what wraps io.EOF is no end
}

// lines looks at an input line by line, ahead of what is consumed, in a buffer that never holds more than max bytes
// and one read. A line that does not fit is skipped by discard.
type lines struct {
	r          io.Reader
	buf        []byte
	start, end int // buf[start:end] is read and not consumed
	max        int // content bytes of what lies between start and the end of a line
	err        error
}

func newLines(r io.Reader, limit int) *lines {
	return &lines{r: r, buf: make([]byte, min(firstBuffer, limit+64)), max: limit}
}

// peek returns the length, line end included, of the line that begins off bytes behind the start. Its error is io.EOF
// where no byte is left, errTooLong where the line's content would end more than max bytes behind the start, or the
// reader's. The last line of the input may lack its line end; a line cut short by a read error is never returned.
func (l *lines) peek(off int) (int, error) {
	for from := off; ; {
		have := l.buf[l.start:l.end]
		if i := bytes.IndexByte(have[from:], '\n'); i >= 0 {
			if from+i > l.max {
				return 0, errTooLong
			}
			return from + i + 1 - off, nil
		}
		if len(have) > l.max {
			return 0, errTooLong
		}
		from = len(have)
		if l.err != nil {
			if isEnd(l.err) && from > off {
				return from - off, nil
			}
			return 0, l.err
		}
		l.fill()
	}
}

// bytes returns the n first bytes that are not consumed. They are valid until the next peek or discard.
func (l *lines) bytes(n int) []byte { return l.buf[l.start : l.start+n] }

// skip consumes prefix if the bytes that were peeked at begin with it.
func (l *lines) skip(prefix string) bool {
	if !bytes.HasPrefix(l.buf[l.start:l.end], []byte(prefix)) {
		return false
	}
	l.start += len(prefix)
	return true
}

func (l *lines) consume(n int) { l.start += n }

// discard consumes up to and including the next line end, without keeping any of it, and returns how many bytes it
// consumed and whether the last of them was a line end.
func (l *lines) discard() (n int64, ended bool, err error) {
	for {
		have := l.buf[l.start:l.end]
		if i := bytes.IndexByte(have, '\n'); i >= 0 {
			l.start += i + 1
			return n + int64(i) + 1, true, nil
		}
		n += int64(len(have))
		l.start, l.end = 0, 0
		if isEnd(l.err) {
			return n, false, nil
		}
		if l.err != nil {
			return n, false, l.err
		}
		l.fill()
	}
}

// fill reads once. It makes room by moving what is not consumed to the front, then by growing up to max and a bit: the
// caller has seen that there are at most max bytes.
func (l *lines) fill() {
	if l.end == len(l.buf) {
		if l.start > 0 {
			l.end = copy(l.buf, l.buf[l.start:l.end])
			l.start = 0
		} else {
			l.buf = append(make([]byte, 0, min(2*len(l.buf), l.max+64)), l.buf...)
			l.buf = l.buf[:cap(l.buf)]
		}
	}
	for range maxEmptyReads {
		n, err := l.r.Read(l.buf[l.end:])
		l.end += n
		if l.err = err; n > 0 || err != nil {
			return
		}
	}
	l.err = io.ErrNoProgress
}
