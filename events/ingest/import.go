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

// Import returns the import of an input without a name: a digest of its bytes, compressed if the
// input is, and of idSpace, which distinguishes inputs with equal rows.
func (s *Source) Import(idSpace string) (id events.ImportID, err error) {
	h := sha256.New()
	fmt.Fprintf(h, "file\x00%d\x00%s", len(idSpace), idSpace)
	if _, err := io.Copy(h, s.bytes()); err != nil {
		return id, fmt.Errorf("input: digest of %q: %w", s.name, err)
	}
	copy(id[:], h.Sum(nil))
	return id, nil
}
