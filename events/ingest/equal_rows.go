package ingest

import (
	"crypto/sha256"
	"encoding/binary"
)

// maxCountedRows bounds the different rows whose equal ones are counted: about 300 MiB.
const maxCountedRows = 8 << 20

// byPosition marks the number of a row that is not counted: its position in the input.
const byPosition = 1 << 63

// equalRows distinguishes the equal rows of an input. The number of a row is how many equal rows
// precede it, so that rows which are added to a file, deleted or moved do not change the numbers of
// the others. That holds for the first most different rows. A further row has its position in the
// input as its number: then memory is bounded, and no two equal rows have one number.
//
// The count of a row is found by 64 bits of its digest. Two different rows with the same bits share
// a count. Their ids differ all the same, because the whole digest is a part of the id.
type equalRows struct {
	most  int
	count map[uint64]uint64
}

// number returns the number of the next row: its content's digest, and its position from 1.
func (e *equalRows) number(content [sha256.Size]byte, position uint64) uint64 {
	key := binary.BigEndian.Uint64(content[:])
	n, counted := e.count[key]
	if !counted && len(e.count) >= e.most {
		return byPosition | position
	}
	e.count[key] = n + 1
	return n
}
