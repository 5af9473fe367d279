package ingest

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
)

// Suffixes distinguish the events of one row.
const (
	suffixRow   byte = 0
	suffixClick byte = 1
)

// clickSuffix is appended to the id of a row to make the id of its click.
const clickSuffix = ":click"

// idHasher derives event ids. It uses SHA-256 and not a faster hash, because the author of
// a file must not be able to construct two rows with one id: the second would not be charged.
type idHasher struct {
	prefix []byte // version, id space and format
	equal  equalRows
	enc    *base32.Encoding
	buf    []byte
	row    [sha256.Size + numberBytes + 1]byte // digest of the content, number, suffix
	text   [base32Len]byte
}

const (
	idBytes     = 16
	base32Len   = (idBytes*8 + 4) / 5
	numberBytes = 8
)

func newIDHasher(space, format string) *idHasher {
	const alphabet = "0123456789abcdefghijklmnopqrstuv" // base32hex (RFC 4648) in lower case
	h := &idHasher{
		prefix: []byte("weir.ingest.2\x00"),
		equal:  equalRows{most: maxCountedRows, count: map[uint64]uint64{}},
		enc:    base32.NewEncoding(alphabet).WithPadding(base32.NoPadding),
	}
	h.prefix = append(append(h.prefix, space...), 0)
	h.prefix = append(append(h.prefix, format...), 0)
	return h
}

// begin begins the row whose ids derive returns. It is called once for each row.
func (h *idHasher) begin(row *rawRow) {
	h.buf = append(append(h.buf[:0], h.prefix...), row.raw...)
	content := sha256.Sum256(h.buf)
	copy(h.row[:], content[:])
	binary.BigEndian.PutUint64(h.row[sha256.Size:], h.equal.number(content, row.number))
}

// derive returns 26 characters: the first 128 bits of SHA-256 over the digest of the row's content,
// its number among equal rows, and suffix. The digest of the content is SHA-256 over version, id
// space, format and the bytes of the row. The input of the hashes never changes, or rows that were
// imported before would count again.
func (h *idHasher) derive(suffix byte) string {
	h.row[len(h.row)-1] = suffix
	sum := sha256.Sum256(h.row[:])
	h.enc.Encode(h.text[:], sum[:idBytes])
	return string(h.text[:])
}
