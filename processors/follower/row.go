package follower

import (
	"encoding/binary"
	"errors"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/processors/internal/store"
)

// Row is the last value of a key.
type Row struct {
	Key, Value []byte
	Offset     int64 // of the record
}

// Change is a change of a row. Its slices are valid during the call of OnChange only.
type Change struct {
	Topic     string
	Partition int32
	// Offset is that of the record. It is -1 for a row that a load did not find.
	Offset int64
	Key    []byte
	Old    []byte // nil: the row did not exist
	New    []byte // nil: the row is deleted
}

// errRow means that a stored row cannot be decoded.
var errRow = errors.New("a row of the store has no offset")

// appendRow encodes a row's value: the offset as a varint, then the value.
func appendRow(to []byte, offset int64, value []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(offset)), value...)
}

// parseRow decodes a row's value. A stored row has a value, which may be empty.
func parseRow(b []byte) (value []byte, offset int64, err error) {
	at, n := binary.Uvarint(b)
	if n <= 0 {
		return nil, 0, errRow
	}
	return b[n:], int64(at), nil
}

// readRow returns the row of key in a slot. The value belongs to the caller; nil: no row.
func readRow(r pebble.Reader, slot int32, key []byte) (value []byte, offset int64, err error) {
	b, err := store.Get(r, store.Key(slot, rowTable, key))
	if err != nil || b == nil {
		return nil, 0, err
	}
	return parseRow(b)
}
