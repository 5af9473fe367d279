package ingest

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/klauspost/compress/zstd"
)

// Source is an opened input. Read returns its plain bytes: gzip and zstd, also of several
// members or frames, are decompressed. BytesRead may be called from any goroutine.
type Source struct {
	name  string
	file  *os.File // the input, or a copy of it
	size  int64
	read  atomic.Int64
	plain io.Reader
	zstd  *zstd.Decoder // nil without zstd
}

// Open opens the file with the given name, or stdin if name is "-". Standard input and other inputs
// that are not regular files are copied to a temporary file first, until they end or ctx does. What
// is appended to a file afterwards is not read.
//
// An input that begins with the magic bytes of gzip or zstd is decompressed. An input that begins
// like another compressed format, or like UTF-16, is refused with the tool that converts it. A file
// named .gz that does not begin with them is refused, because no row of it could be read.
func Open(ctx context.Context, name string, stdin io.Reader) (*Source, error) {
	s := &Source{name: name}
	var err error
	if name != "-" {
		s.file, s.size, err = openFile(ctx, name)
	} else if stdin != nil {
		s.file, s.size, err = spool(ctx, stdin)
	} else {
		err = errors.New("input: standard input is not available: name a file")
	}
	if err != nil {
		return nil, err
	}
	if err := s.Rewind(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func openFile(ctx context.Context, name string) (*os.File, int64, error) {
	f, err := os.Open(name)
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) { // whose text has the name as it is
			err = &os.PathError{Op: pe.Op, Path: strconv.Quote(name), Err: pe.Err}
		}
		return nil, 0, fmt.Errorf("input: %w", err)
	}
	st, err := f.Stat()
	if err == nil && st.IsDir() {
		err = fmt.Errorf("input: %w: name one file", &fs.PathError{Op: "read", Path: name, Err: syscall.EISDIR})
	}
	if err == nil && st.Mode().IsRegular() {
		return f, st.Size(), nil
	}
	defer func() { _ = f.Close() }()
	if err != nil {
		return nil, 0, err
	}
	return spool(ctx, f)
}

// spool copies an input that can be read only once. The temporary file loses its name before it is
// written, so that it ends with the process, however the process ends.
func spool(ctx context.Context, in io.Reader) (*os.File, int64, error) {
	f, err := os.CreateTemp("", "weir-input-*")
	if err != nil {
		return nil, 0, fmt.Errorf("input: create a temporary file for an input that is not a regular file: %w: set TMPDIR to a folder with room for the input, or name a file", err)
	}
	var size int64
	if err = os.Remove(f.Name()); err == nil {
		size, err = io.Copy(f, contextReader{ctx, in})
	}
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("input: copy to a temporary file in %s: %w", os.TempDir(), err), f.Close())
	}
	return f, size, nil
}

// contextReader reads until ctx ends.
type contextReader struct {
	ctx context.Context
	in  io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.in.Read(p)
}

// Rewind makes Read begin with the first byte again.
func (s *Source) Rewind() error {
	s.closeDecoder()
	s.read.Store(0)
	br := bufio.NewReaderSize(&countingReader{r: s.bytes(), n: &s.read}, 256<<10)
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
		return fmt.Errorf("input: %q is named .gz but is not gzip (it begins with %x, not 1f8b): rename it if it is plain text", s.name,
			head[:min(len(head), 2)])
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

// bytes returns a reader of the bytes on disk.
func (s *Source) bytes() io.Reader { return io.NewSectionReader(s.file, 0, s.size) }

func (s *Source) closeDecoder() {
	if s.zstd != nil {
		s.zstd.Close()
		s.zstd = nil
	}
}

// Close closes the file. Standard input stays open.
func (s *Source) Close() error {
	s.closeDecoder()
	return s.file.Close()
}

// Name returns the name given to Open.
func (s *Source) Name() string { return s.name }

// Size returns the number of bytes of the input, compressed if the input is.
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
