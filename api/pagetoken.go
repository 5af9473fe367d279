package api

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// position is where a page begins: it is stable under writes, because it is a key and no count.
type position struct {
	partition int32
	from      []byte // first key
}

// A token is base64 of: version, fingerprint of the question (8 bytes), partition (2 bytes), key.
const (
	tokenVersion = 1
	tokenHead    = 1 + 8 + 2
)

func (p position) token(q scanQuery) string {
	b := binary.BigEndian.AppendUint64([]byte{tokenVersion}, q.fingerprint())
	b = binary.BigEndian.AppendUint16(b, uint16(p.partition))
	return base64.RawURLEncoding.EncodeToString(append(b, p.from...))
}

// resume reads a token of the same question. Whatever it holds, the position is inside of what q asks for.
func (q scanQuery) resume(token string) (position, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < tokenHead || b[0] != tokenVersion {
		return position{}, invalid("page_token %.32q is none of ours: take next_page_token of the page before as it is, or leave it out to begin anew", token)
	}
	if binary.BigEndian.Uint64(b[1:]) != q.fingerprint() {
		return position{}, invalid("page_token is of another question: ask with the same table, range and partition as the page before, or leave it out to begin anew")
	}
	p := position{partition: int32(binary.BigEndian.Uint16(b[9:])), from: b[tokenHead:]}
	if p.partition < q.first || p.partition > q.last || !q.contains(p.from) {
		return position{}, invalid("page_token points out of the range that is asked for: take next_page_token of the page before as it is, or leave it out to begin anew")
	}
	return p, nil
}

// fingerprint tells questions apart whose pages would not fit together. The size of the pages may change.
func (q scanQuery) fingerprint() uint64 {
	h := xxhash.New()
	for _, part := range [][]byte{{q.table, byte(q.first >> 8), byte(q.first), byte(q.last >> 8), byte(q.last)}, q.from, q.to} {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part)))) // a Digest never fails
		_, _ = h.Write(part)
	}
	if q.to == nil {
		_, _ = h.Write([]byte{0})
	}
	return h.Sum64()
}
