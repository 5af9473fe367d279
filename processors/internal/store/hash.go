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

// Sum says what one table of one partition holds: two that are equal hold the same keys with values of the same essence,
// see Processor.Essence.
type Sum struct {
	Keys  int64  `json:"keys"`
	Bytes int64  `json:"bytes"` // of keys and essences
	Hash  Digest `json:"hash"`  // over length and bytes of each key and essence, in the order of the keys
}

// Digest is a SHA-256. As text it is hexadecimal.
type Digest [sha256.Size]byte

// String is the digest in hexadecimal.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText is String.
func (d Digest) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("digest of %d characters: %d are needed", len(text), hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// Canonical is Processor.Essence.
type Canonical func(table byte, key, value []byte) []byte

// Apply is nil where the inputs decide nothing of a value.
func (e Canonical) Apply(table byte, key, value []byte) []byte {
	if value == nil { // an empty one is a value
		value = []byte{}
	}
	if e == nil || table == stream.TimerTable {
		return value
	}
	return e(table, key, value)
}

// HashTables hashes each table of partition p, with the values as of gives them.
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

// NewLoggedIter iterates over what the changelog has of a partition. Its keys are those of the store.
func NewLoggedIter(r pebble.Reader, p int32) (*pebble.Iterator, error) {
	it, err := r.NewIter(&pebble.IterOptions{LowerBound: Key(p, stream.FirstTable, nil), UpperBound: Key(p, stream.FirstLocalTable, nil)})
	if err != nil {
		return nil, fmt.Errorf("scan store: %w", err)
	}
	return it, nil
}

// TableHasher is the sum of one table while it grows.
type TableHasher struct {
	table byte
	sum   Sum
	Hash  hash.Hash
	room  [16]byte
}

// Add adds a row. The order of the rows does not matter.
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
