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
	enc    *base32.Encoding
	buf    []byte
	text   [base32Len]byte
}

const (
	idBytes   = 16
	base32Len = (idBytes*8 + 4) / 5
)

func newIDHasher(space, format string) *idHasher {
	const alphabet = "0123456789abcdefghijklmnopqrstuv" // base32hex (RFC 4648) in lower case
	h := &idHasher{
		prefix: []byte("weir.ingest.1\x00"),
		enc:    base32.NewEncoding(alphabet).WithPadding(base32.NoPadding),
	}
	h.prefix = append(append(h.prefix, space...), 0)
	h.prefix = append(append(h.prefix, format...), 0)
	return h
}

// derive returns 26 characters: the first 128 bits of SHA-256 over version, id space, format, row
// number, suffix and the bytes of the row. The input of the hash never changes, or files that were
// imported before would count again.
func (h *idHasher) derive(row *rawRow, suffix byte) string {
	h.buf = append(h.buf[:0], h.prefix...)
	h.buf = binary.BigEndian.AppendUint64(h.buf, row.number)
	h.buf = append(h.buf, suffix)
	h.buf = append(h.buf, row.raw...)
	sum := sha256.Sum256(h.buf)
	h.enc.Encode(h.text[:], sum[:idBytes])
	return string(h.text[:])
}
