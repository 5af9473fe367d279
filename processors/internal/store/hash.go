package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/stream"
)

// Sum is a checksum of one table of one partition. Equal sums mean equal keys with equal canonical
// forms of their values, see stream.Processor.Canonical.
type Sum struct {
	Keys  int64  `json:"keys"`
	Bytes int64  `json:"bytes"` // of keys and canonical forms
	Hash  Digest `json:"hash"`  // over length and bytes of each key and canonical form, in the order of the keys
}

// Digest is a SHA-256 digest. Its text form is hexadecimal.
type Digest [sha256.Size]byte

// String returns the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText returns the digest in hexadecimal.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText decodes the output of MarshalText.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("digest of %d characters: %d are needed", len(text), hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Canonical has the type of stream.Processor.Canonical.
type Canonical func(table byte, key, value []byte) []byte

// Apply returns the canonical form of value, or nil if the inputs determine no part of it.
func (e Canonical) Apply(table byte, key, value []byte) []byte {
	if value == nil { // nil means no canonical form; an empty value has one
		value = []byte{}
	}
	if e == nil || table == stream.TimerTable {
		return value
	}
	return e(table, key, value)
}

// HashTables hashes the canonical forms in each table of partition p.
func HashTables(r pebble.Reader, p int32, of Canonical) (out map[byte]Sum, err error) {
	it, err := NewLoggedIter(r, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	out = map[byte]Sum{}
	var h TableHasher
	for it.First(); it.Valid(); it.Next() {
		table, key := it.Key()[2], it.Key()[3:]
		if table != h.table {
			h.end(out)
			h = TableHasher{table: table, Hash: sha256.New()}
		}
		if value := of.Apply(table, key, it.Value()); value != nil {
			h.Add(key, value)
		}
	}
	h.end(out)
	return out, it.Error()
}

// NewLoggedIter iterates over the rows of a partition that are in the changelog, without local
// tables. Its keys are store keys.
func NewLoggedIter(r pebble.Reader, p int32) (*pebble.Iterator, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: Key(p, stream.FirstTable, nil), UpperBound: Key(p, stream.FirstLocalTable, nil)})
	if err != nil {
		return nil, fmt.Errorf("scan store: %w", err)
	}
	return it, nil
}

// TableHasher computes the Sum of one table.
type TableHasher struct {
	table byte
	sum   Sum
	Hash  hash.Hash
	room  [16]byte
}

// Add adds a row. Rows have to come in the order of their keys for the Sum to be comparable.
func (h *TableHasher) Add(key, value []byte) {
	h.sum.Keys++
	h.sum.Bytes += int64(len(key) + len(value))
	lengths := binary.BigEndian.AppendUint64(h.room[:0], uint64(len(key)))
	h.Hash.Write(binary.BigEndian.AppendUint64(lengths, uint64(len(value))))
	h.Hash.Write(key)
	h.Hash.Write(value)
}

func (h *TableHasher) end(out map[byte]Sum) {
	if h.sum.Keys > 0 {
		h.Hash.Sum(h.sum.Hash[:0])
		out[h.table] = h.sum
	}
}
