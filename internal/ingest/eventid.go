package ingest

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
)

// Suffixes tell the events of one row apart.
const (
	suffixRow   byte = 0
	suffixClick byte = 1
)

// clickSuffix makes the id of a derived click where the row carries an id of its own.
const clickSuffix = ":click"

// identity derives event ids. It is SHA-256 and not a faster hash because whoever can put rows into a file must not be
// able to build two with one id: the second would not be charged.
type identity struct {
	prefix []byte // version, id space and format
	enc    *base32.Encoding
	buf    []byte
	text   [base32Len]byte
}

const (
	idBytes   = 16
	base32Len = (idBytes*8 + 4) / 5
)

func newIdentity(space, format string) *identity {
	const alphabet = "0123456789abcdefghijklmnopqrstuv" // base32hex, lower case
	id := &identity{
		prefix: []byte("weir.ingest.1\x00"),
		enc:    base32.NewEncoding(alphabet).WithPadding(base32.NoPadding),
	}
	id.prefix = append(append(id.prefix, space...), 0)
	id.prefix = append(append(id.prefix, format...), 0)
	return id
}

// derive returns 26 characters that stand for 128 bits of the hash of (id space, format, row number, suffix, row bytes).
func (d *identity) derive(row *rawRow, suffix byte) string {
	d.buf = append(d.buf[:0], d.prefix...)
	d.buf = binary.BigEndian.AppendUint64(d.buf, row.number)
	d.buf = append(d.buf, suffix)
	d.buf = append(d.buf, row.raw...)
	sum := sha256.Sum256(d.buf)
	d.enc.Encode(d.text[:], sum[:idBytes])
	return string(d.text[:])
}
