package ingest

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func gz(t testing.TB, members ...string) []byte {
	t.Helper()
	var buf bytes.Buffer
	for _, m := range members {
		w := gzip.NewWriter(&buf)
		if _, err := io.WriteString(w, m); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return buf.Bytes()
}

func zst(t testing.TB, text string) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll([]byte(text), nil)
}

func TestOpen(t *testing.T) {
	whole := gz(t, "one\n", "two\n")
	for _, c := range []struct {
		name, file string
		content    []byte
		want       string
		openErr    string // part of Open's error
		readErr    error
	}{
		{name: "zstd, two frames", file: "a.csv", content: slices.Concat(zst(t, "one\n"), zst(t, "two\n")), want: "one\ntwo\n"},
		{name: "cut zstd", file: "a.csv.zst", content: zst(t, "one\n")[:11], readErr: io.ErrUnexpectedEOF},
		{name: "xz", file: "a.csv.xz", content: []byte("\xfd7zXZ\x00\x00\x04"), openErr: "xz -dc FILE"},
		{name: "bzip2", file: "a.csv", content: []byte("BZh91AY&SY"), openErr: "bzip2 -dc FILE"},
		{name: "UTF-16", file: "a.csv", content: []byte("\xff\xfec\x00,\x00"), openErr: "iconv -f UTF-16"},
		{name: "plain", file: "a.csv", content: []byte("x,y\n"), want: "x,y\n"},
		{name: "empty", file: "a.csv"},
		{name: "one byte", file: "a.csv", content: []byte("x"), want: "x"},
		{name: "gzip by name, two members", file: "a.csv.gz", content: whole, want: "one\ntwo\n"},
		{name: "gzip by magic", file: "a.csv", content: whole, want: "one\ntwo\n"},
		{name: "named gz but plain", file: "a.gz", content: []byte("x,y\n"), openErr: "not gzip"},
		{name: "named gz but empty", file: "a.gz", openErr: "not gzip"},
		{name: "bad gzip header", file: "a", content: []byte("\x1f\x8bxxxxxxxxxxxx"), openErr: "gunzip"},
		{name: "cut gzip", file: "a.gz", content: whole[:len(whole)-4], want: "one\ntwo\n", readErr: io.ErrUnexpectedEOF},
		{name: "damaged gzip", file: "a.gz", content: append(whole[:len(whole)-8:len(whole)-8], "12345678"...), want: "one\ntwo\n", readErr: gzip.ErrChecksum},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), c.file)
			if err := os.WriteFile(path, c.content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := Open(t.Context(), path, nil)
			if c.openErr != "" {
				if err == nil || !strings.Contains(err.Error(), c.openErr) || !strings.Contains(err.Error(), path) {
					t.Fatalf("Open: %v, want an error with %q and the name", err, c.openErr)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(s)
			if string(got) != c.want || !errors.Is(err, c.readErr) {
				t.Errorf("read %q, %v; want %q, %v", got, err, c.want, c.readErr)
			}
			if s.Size() != int64(len(c.content)) || s.BytesRead() != s.Size() || s.Name() != path {
				t.Errorf("%s: %d of %d bytes, want %d", s.Name(), s.BytesRead(), s.Size(), len(c.content))
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOpenStdin: an input that can be read only once is read twice. Its copy has no name.
func TestOpenStdin(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	for _, in := range [][]byte{[]byte("one\n"), gz(t, "one\n"), zst(t, "one\n")} {
		s, err := Open(t.Context(), "-", bytes.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if got, err := io.ReadAll(s); err != nil || string(got) != "one\n" {
				t.Errorf("read %q, %v", got, err)
			}
			if s.Size() != int64(len(in)) || s.BytesRead() != s.Size() {
				t.Errorf("size %d, %d bytes read of %d", s.Size(), s.BytesRead(), len(in))
			}
			if err := s.Rewind(); err != nil {
				t.Fatal(err)
			}
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 || s.Close() != nil {
			t.Errorf("%d temporary files, %v", len(files), err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ended, "-", zeros{}); !errors.Is(err, context.Canceled) {
		t.Errorf("an endless input: %v", err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "none"))
	if _, err := Open(t.Context(), "-", strings.NewReader("")); err == nil || !strings.Contains(err.Error(), "set TMPDIR") {
		t.Errorf("no folder for the copy: %v", err)
	}
	if _, err := Open(t.Context(), "-", nil); err == nil {
		t.Error("no standard input, no error")
	}
	if _, err := Open(t.Context(), t.TempDir(), nil); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := Open(t.Context(), filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

// TestSourceEndsWhereItWasOpened: a row that is appended to a file during an import belongs to the
// next one.
func TestSourceEndsWhereItWasOpened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.csv")
	write := func(flag int, text string) {
		t.Helper()
		f, err := os.OpenFile(path, flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(text)
		if err = errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	write(os.O_WRONLY|os.O_CREATE, "one\n")
	s, err := Open(t.Context(), path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	id, err := s.Import("")
	if err != nil {
		t.Fatal(err)
	}
	write(os.O_WRONLY|os.O_APPEND, "two\n")
	for range 2 {
		if text, err := io.ReadAll(s); err != nil || string(text) != "one\n" {
			t.Errorf("read %q, %v", text, err)
		}
		if err := s.Rewind(); err != nil {
			t.Fatal(err)
		}
	}
	if again, err := s.Import(""); err != nil || again != id {
		t.Errorf("import %x, %v, and before %x", again, err, id)
	}
}

// TestBombIsSkipped: a small gzip file that holds one huge line must cost one row and no memory.
func TestBombIsSkipped(t *testing.T) {
	const bomb = 16 << 20
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	head := `{"event_id":"`
	for _, part := range []io.Reader{
		strings.NewReader(head), io.LimitReader(zeros{}, bomb), strings.NewReader("\n" + goodJSON + "\n"),
	} {
		if _, err := io.Copy(w, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), "-", &packed)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewReader(s, Options{Format: FormatJSONL})
	if err != nil {
		t.Fatal(err)
	}
	row, err := r.Next()
	if err != nil || row.Err == nil || row.Err.Reason != ReasonTooLong || row.Line != 1 || len(row.Raw) != keptOfLongRow || row.Size != bomb+int64(len(head)) {
		t.Fatalf("row %d of %d bytes, %d kept: %v, %v", row.Line, row.Size, len(row.Raw), row.Err, err)
	}
	if row, err = r.Next(); err != nil || row.Err != nil || row.Line != 2 || row.Events[0].EventId != "e1" {
		t.Fatalf("the row behind the bomb: %+v, %v", row, err)
	}
	if most := DefaultMaxRowBytes + 64; r.rows.in.in.Size() > most {
		t.Errorf("the buffer has %d bytes, over %d", r.rows.in.in.Size(), most)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
