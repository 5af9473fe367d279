package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

var errTooLong = errors.New("line too long")

// isEOF reports whether err is the end of the input. A reader ends with io.EOF itself. An error
// that wraps io.EOF, such as that of a lost connection, is a failure: to take it for the end would
// silently lose the rest of the input.
func isEOF(err error) bool {
	return err == io.EOF //nolint:errorlint // an error that wraps io.EOF is not the end
}

// lineReader reads lines and can look several lines ahead without consuming them. It buffers at
// most max+1 bytes. bufio.Scanner does not fit: it stops for good at a line that exceeds its
// buffer, and it has no look-ahead.
type lineReader struct {
	in  *bufio.Reader
	max int   // bytes: greatest distance from the position to the end of a line
	err error // the reader's error, kept because bufio.Reader returns an error once
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(r, limit+1), max: limit}
}

// peek returns the length, line end included, of the line that begins offset bytes after the
// position. Its error is io.EOF if no byte is left, errTooLong if the line's content ends more than
// max bytes after the position, or the error of the reader. The last line of the input may lack its
// line end. A line that a read error cut short is never returned.
func (l *lineReader) peek(offset int) (int, error) {
	for from := offset; ; {
		ahead := l.bytes(l.in.Buffered())
		if i := bytes.IndexByte(ahead[from:], '\n'); i >= 0 {
			if from+i > l.max {
				return 0, errTooLong
			}
			return from + i + 1 - offset, nil
		}
		if len(ahead) > l.max {
			return 0, errTooLong
		}
		from = len(ahead)
		if l.err == nil {
			_, l.err = l.in.Peek(from + 1) // reads once, or until the reader gives a byte
		}
		if l.err != nil {
			if isEOF(l.err) && from > offset {
				return from - offset, nil
			}
			return 0, l.err
		}
	}
}

// bytes returns the next n bytes, which must be buffered. They are valid until the next peek or
// discardLine.
func (l *lineReader) bytes(n int) []byte {
	b, _ := l.in.Peek(n) // does not read, and so does not fail
	return b
}

// skip consumes prefix if the buffered bytes begin with it.
func (l *lineReader) skip(prefix string) bool {
	if !bytes.HasPrefix(l.bytes(l.in.Buffered()), []byte(prefix)) {
		return false
	}
	l.consume(len(prefix))
	return true
}

// consume moves the position by n bytes, which must be buffered.
func (l *lineReader) consume(n int) {
	_, _ = l.in.Discard(n) // does not read, and so does not fail
}

// discardLine consumes the bytes up to and including the next line end without keeping them. It
// returns how many bytes it consumed and whether the last of them was a line end.
func (l *lineReader) discardLine() (n int64, ended bool, err error) {
	for {
		part, err := l.in.ReadSlice('\n')
		n += int64(len(part))
		switch {
		case err == nil:
			return n, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case isEOF(err):
			l.err = err
			return n, false, nil
		default:
			l.err = err
			return n, false, err
		}
	}
}
