package events

import "encoding/binary"

// ImportHeader is the header of an imported event with its import and its place in it.
const ImportHeader = "weir-import"

// ImportID identifies an import: the beginning of a digest.
type ImportID [16]byte

// AppendImport appends the value of an ImportHeader: the import, and the sequence number of the
// event in it (8 bytes, big endian). Within an import and a partition the sequence numbers grow.
func AppendImport(dst []byte, id ImportID, sequence int64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, id[:]...), uint64(sequence))
}

// ParseImport splits the value of an ImportHeader. ok is false if the value is malformed or the
// number is negative.
func ParseImport(value []byte) (id ImportID, sequence int64, ok bool) {
	if len(value) != len(id)+8 {
		return id, 0, false
	}
	copy(id[:], value)
	sequence = int64(binary.BigEndian.Uint64(value[len(id):]))
	return id, sequence, sequence >= 0 && sequence+1 > 0
}
