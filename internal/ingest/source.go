package ingest

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
)

// Source is an opened input. Read returns its plain bytes: gzip, also of several members, is
// decompressed. BytesRead may be called from any goroutine.
type Source struct {
	name  string
	size  int64
	read  atomic.Int64
	plain io.Reader
	file  *os.File
}

// Open opens the file with the given name, or stdin if name is "-". An input that begins with the
// magic bytes of gzip is decompressed. A file named .gz that does not begin with them is refused,
// because no row of it could be read.
func Open(name string, stdin io.Reader) (*Source, error) {
	s := &Source{name: name, size: -1}
	var in io.Reader
	if name == "-" {
		if stdin == nil {
			return nil, errors.New("input: standard input is not available: name a file")
		}
		in = stdin
	} else {
		f, size, err := openFile(name)
		if err != nil {
			return nil, err
		}
		s.file, s.size, in = f, size, f
	}
	if err := s.detectGzip(in); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func openFile(name string) (f *os.File, size int64, err error) {
	f, err = os.Open(name)
	if err != nil {
		return nil, 0, fmt.Errorf("input: %w", err)
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("input: %w: name one file", &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR})
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	if !st.Mode().IsRegular() { // a pipe has no known size
		return f, -1, nil
	}
	return f, st.Size(), nil
}

// gzipMagic begins every gzip member (RFC 1952).
const gzipMagic = "\x1f\x8b"

// detectGzip looks at the first bytes of in and sets s.plain.
func (s *Source) detectGzip(in io.Reader) error {
	br := bufio.NewReaderSize(&countingReader{r: in, n: &s.read}, 256<<10)
	s.plain = br
	head, err := br.Peek(len(gzipMagic))
	if err != nil && !isEOF(err) {
		return fmt.Errorf("input: read %s: %w", s.name, err)
	}
	if string(head) != gzipMagic {
		if strings.HasSuffix(s.name, ".gz") {
			return fmt.Errorf("input: %s is named .gz but is not gzip (it begins with %x, not 1f8b): rename it if it is plain text", s.name, head)
		}
		return nil
	}
	zr, err := gzip.NewReader(br)
	if err != nil {
		return fmt.Errorf("input: gunzip %s: %w: the file is damaged, copy it again", s.name, err)
	}
	s.plain = zr
	return nil
}

// Read implements io.Reader. A gzip stream that is cut short or damaged returns an error, never
// io.EOF.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.plain.Read(p)
	if err != nil && !isEOF(err) {
		err = fmt.Errorf("read %s: %w", s.name, err)
	}
	return n, err
}

// Close closes the file. Standard input stays open.
func (s *Source) Close() error {
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Name returns the name given to Open.
func (s *Source) Name() string { return s.name }

// Size returns the number of bytes of the file on disk, compressed if the file is. It returns -1 if
// the size is unknown.
func (s *Source) Size() int64 { return s.size }

// BytesRead returns how many of the Size bytes were read. Buffers make it run ahead of the rows.
func (s *Source) BytesRead() int64 { return s.read.Load() }

// countingReader counts the bytes that are read.
type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
