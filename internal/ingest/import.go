package ingest

import (
	"crypto/sha256"
	"fmt"
	"io"

	"github.com/weirhq/weir/events"
)

// NamedImport returns the import with a name that the user chose.
func NamedImport(name string) events.ImportID {
	sum := sha256.Sum256([]byte("name\x00" + name))
	return events.ImportID(sum[:16])
}

// FileImport returns the import of a file: a digest of its bytes as they are on disk, and of
// idSpace, which distinguishes files with equal rows.
func FileImport(path, idSpace string) (id events.ImportID, err error) {
	f, _, err := openFile(path)
	if err != nil {
		return id, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	fmt.Fprintf(h, "file\x00%d\x00%s", len(idSpace), idSpace)
	if _, err := io.Copy(h, f); err != nil {
		return id, fmt.Errorf("input: digest of %q: %w", path, err)
	}
	copy(id[:], h.Sum(nil))
	return id, nil
}
