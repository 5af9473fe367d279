package spendcounter

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// otherPair is the key of the row that has what is beyond Config.Parts. An event with neither line
// item nor arm has no pair.
const otherPair = "\x00\x00\x00\x00"

// appendPairKey appends a pair of line item and arm, each after its length in 2 bytes, big endian.
// The order of pairs depends on this form.
func appendPairKey(dst, lineItem, arm []byte) []byte {
	dst = append(binary.BigEndian.AppendUint16(dst, uint16(len(lineItem))), lineItem...)
	return append(binary.BigEndian.AppendUint16(dst, uint16(len(arm))), arm...)
}

// pairHash is the order of pairs. It is fixed for ever: which pairs have rows depends on it.
func pairHash(key []byte) uint64 { return xxhash.Sum64(key) }

// ParsePartKey splits a key of TableParts: a spend key, and a line item and an arm, each after its
// length in 2 bytes. Both are empty in the row of what is beyond Config.Parts. The parts of a
// campaign day are the keys that begin with its spend key. The results point into key.
func ParsePartKey(key []byte) (spendKey, lineItem, arm []byte, err error) {
	bad := func() ([]byte, []byte, []byte, error) {
		return nil, nil, nil, fmt.Errorf(
			"part key %q: the key is not a spend key, a line item and an arm: does it belong to another table?", key)
	}
	account := bytes.IndexByte(key, 0)
	campaign := bytes.IndexByte(key[account+1:], 0)
	end := account + 1 + campaign + 1 + keyTail
	if account < 0 || campaign < 0 || end > len(key) {
		return bad()
	}
	rest := key[end:]
	var ok1, ok2 bool
	if lineItem, rest, ok1 = cutPair(rest); ok1 {
		arm, rest, ok2 = cutPair(rest)
	}
	if !ok2 || len(rest) > 0 || badID(lineItem) || badID(arm) {
		return bad()
	}
	return key[:end], lineItem, arm, nil
}

// cutPair cuts the first half from the key of a pair.
func cutPair(key []byte) (half, rest []byte, ok bool) {
	if len(key) < 2 {
		return nil, nil, false
	}
	n := 2 + int(binary.BigEndian.Uint16(key))
	if n > len(key) {
		return nil, nil, false
	}
	return key[2:n:n], key[n:], true
}
