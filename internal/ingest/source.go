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

	"github.com/klauspost/compress/zstd"
)

// Source is an opened input. Read returns its plain bytes: gzip and zstd, also of several
// members or frames, are decompressed. BytesRead may be called from any goroutine.
type Source struct {
	name  string
	size  int64
	read  atomic.Int64
	plain io.Reader
	file  *os.File
	zstd  *zstd.Decoder // nil without zstd
}

// Open opens the file with the given name, or stdin if name is "-". An input that begins with the
// magic bytes of gzip or zstd is decompressed. An input that begins like another compressed format,
// or like UTF-16, is refused with the tool that converts it. A file named .gz that does not begin
// with them is refused, because no row of it could be read.
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
	if err := s.detect(in); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func openFile(name string) (f *os.File, size int64, err error) {
	f, err = os.Open(name)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) { // whose text has the name as it is
			err = fmt.Errorf("%s %q: %w", pe.Op, name, pe.Err)
		}
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

// detect looks at the first bytes of in and sets s.plain.
func (s *Source) detect(in io.Reader) error {
	br := bufio.NewReaderSize(&countingReader{r: in, n: &s.read}, 256<<10)
	s.plain = br
	head, err := br.Peek(sniffed)
	if err != nil && !isEOF(err) {
		return fmt.Errorf("input: read %q: %w", s.name, err)
	}
	begins := func(magic string) bool { return strings.HasPrefix(string(head), magic) }
	switch {
	case begins(gzipMagic):
		zr, err := gzip.NewReader(br)
		if err != nil {
			return fmt.Errorf("input: gunzip %q: %w: the file is damaged, copy it again", s.name, err)
		}
		s.plain = zr
		return nil
	case begins(zstdMagic):
		zr, err := zstd.NewReader(br, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return fmt.Errorf("input: decompress %q: %w", s.name, err)
		}
		s.plain, s.zstd = zr, zr
		return nil
	case strings.HasSuffix(s.name, ".gz"):
		return fmt.Errorf("input: %q is named .gz but is not gzip (it begins with %x, not 1f8b): rename it if it is plain text", s.name, head[:min(len(head), 2)])
	}
	for _, f := range foreignFormats() {
		if begins(f.magic) {
			return fmt.Errorf("input: %q is %s: convert it first, `%s`, and give the result by standard input", s.name, f.name, f.tool)
		}
	}
	return nil
}

// Magic bytes of what Open decompresses (RFC 1952, RFC 8878), and the bytes that detect looks at.
const (
	gzipMagic = "\x1f\x8b"
	zstdMagic = "\x28\xb5\x2f\xfd"
	sniffed   = 6
	// maxZstdWindow bounds the memory for a zstd frame: that of `zstd --ultra -22`.
	maxZstdWindow = 128 << 20
)

// foreignFormat is a format that Open refuses, because no row of it could be read.
type foreignFormat struct{ magic, name, tool string }

func foreignFormats() []foreignFormat {
	return []foreignFormat{
		{"\xfd7zXZ\x00", "xz", "xz -dc FILE"},
		{"BZh", "bzip2", "bzip2 -dc FILE"},
		{"PK\x03\x04", "zip", "unzip -p FILE"},
		{"7z\xbc\xaf\x27\x1c", "7-Zip", "7z x -so FILE"},
		{"\x04\x22\x4d\x18", "lz4", "lz4 -dc FILE"},
		{"PAR1", "Parquet", "duckdb -csv -c \"from 'FILE'\""},
		{"\xff\xfe", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"},
		{"\xfe\xff", "UTF-16", "iconv -f UTF-16 -t UTF-8 FILE"},
	}
}

// Read implements io.Reader. A gzip stream that is cut short or damaged returns an error, never
// io.EOF.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.plain.Read(p)
	if err != nil && !isEOF(err) {
		err = fmt.Errorf("read %q: %w", s.name, err)
	}
	return n, err
}

// Close closes the file. Standard input stays open.
func (s *Source) Close() error {
	if s.zstd != nil {
		s.zstd.Close()
	}
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
