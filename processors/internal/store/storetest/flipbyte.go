package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// FlipByte flips one bit in one file of the database in dir, both chosen by rng, and returns the
// place.
func FlipByte(t *testing.T, fs vfs.FS, dir string, rng *rand.Rand) string {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, n := range names {
		if strings.HasSuffix(n, ".sst") || strings.HasSuffix(n, ".log") || strings.HasPrefix(n, "MANIFEST") ||
			strings.HasPrefix(n, "OPTIONS") {
			if info, err := fs.Stat(path.Join(dir, n)); err == nil && info.Size() > 0 {
				files = append(files, n)
			}
		}
	}
	name := files[rng.IntN(len(files))]
	b := read(t, fs, path.Join(dir, name))
	at := rng.IntN(len(b))
	b[at] ^= 1 << rng.IntN(8)
	write(t, fs, path.Join(dir, name), b)
	return fmt.Sprintf("%s@%d of %d", name, at, len(b))
}

// FlipByteOf flips one bit of the last byte of text in the table that has it, in the database in
// dir. It returns the name of the table and the place of the byte.
func FlipByteOf(t *testing.T, fs vfs.FS, dir string, text []byte) (name string, at int64) {
	t.Helper()
	names, err := fs.List(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".sst") {
			continue
		}
		b := read(t, fs, path.Join(dir, name))
		if i := bytes.Index(b, text); i >= 0 {
			at := i + len(text) - 1
			b[at] ^= 1
			write(t, fs, path.Join(dir, name), b)
			return name, int64(at)
		}
	}
	t.Fatal("no table has the text")
	return "", 0
}

func read(t *testing.T, fs vfs.FS, name string) []byte {
	t.Helper()
	f, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	return b
}

func write(t *testing.T, fs vfs.FS, name string, b []byte) {
	t.Helper()
	w, err := fs.Create(name, vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = w.Write(b)
		err = errors.Join(err, w.Sync(), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}
