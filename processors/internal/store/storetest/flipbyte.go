package storetest

import (
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
		if strings.HasSuffix(n, ".sst") || strings.HasSuffix(n, ".log") || strings.HasPrefix(n, "MANIFEST") || strings.HasPrefix(n, "OPTIONS") {
			if info, err := fs.Stat(path.Join(dir, n)); err == nil && info.Size() > 0 {
				files = append(files, n)
			}
		}
	}
	name := files[rng.IntN(len(files))]
	f, err := fs.Open(path.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	at := rng.IntN(len(b))
	b[at] ^= 1 << rng.IntN(8)
	w, err := fs.Create(path.Join(dir, name), vfs.WriteCategoryUnspecified)
	if err == nil {
		_, err = w.Write(b)
		err = errors.Join(err, w.Sync(), w.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s@%d of %d", name, at, len(b))
}
