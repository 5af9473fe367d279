package processors

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/weirhq/weir/processors/internal/store"
)

// TableHash is the hash of one table of one partition. Two tables with equal TableHashes have the
// same keys, with values of the same canonical form (stream.Processor.Canonical).
type TableHash struct {
	Keys  int64  `json:"keys"`
	Bytes int64  `json:"bytes"` // of keys and canonical values
	Hash  Digest `json:"hash"`  // over the lengths and bytes of each key and canonical value, in the order of the keys
}

// Digest is a SHA-256. Its text is hexadecimal.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText implements encoding.TextMarshaler.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("decode digest: %d characters, not %d", len(text), hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Hash hashes the logged tables of a partition, the timers among them. A table without keys is not
// in the result. It reads each table once and keeps no row in memory.
func (s *Snapshot) Hash(partition int32) (map[byte]TableHash, error) {
	sums, err := store.HashTables(s.snap, partition, s.canonical)
	if err != nil {
		return nil, err
	}
	out := make(map[byte]TableHash, len(sums))
	for table, sum := range sums {
		out[table] = TableHash{Keys: sum.Keys, Bytes: sum.Bytes, Hash: Digest(sum.Hash)}
	}
	return out, nil
}
