package api

import (
	"encoding/base64"
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// position is where a page begins. It is stable under writes, because it is a key and not a count.
type position struct {
	partition int32
	from      []byte // first key
}

// A token is base64 of: version, fingerprint of the request (8 bytes), partition (2 bytes), key.
const (
	tokenVersion = 1
	tokenHead    = 1 + 8 + 2
)

// token returns the token of p for requests with a fingerprint.
func (p position) token(fingerprint uint64) string {
	b := binary.BigEndian.AppendUint64([]byte{tokenVersion}, fingerprint)
	b = binary.BigEndian.AppendUint16(b, uint16(p.partition))
	return base64.RawURLEncoding.EncodeToString(append(b, p.from...))
}

// parseToken parses a token of a request with the same fingerprint.
func parseToken(token string, fingerprint uint64) (position, error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) < tokenHead || b[0] != tokenVersion {
		return position{}, invalid(
			"page_token %.32q is invalid: send next_page_token of the previous page unchanged, or omit it to start again", token)
	}
	if binary.BigEndian.Uint64(b[1:]) != fingerprint {
		return position{}, invalid(
			"page_token belongs to another request: repeat the request of the previous page, or omit it to start again")
	}
	return position{partition: int32(binary.BigEndian.Uint16(b[9:])), from: b[tokenHead:]}, nil
}

// resume parses a token of the same request. Whatever the token holds, the position is inside the
// range of q.
func (q scanQuery) resume(token string) (position, error) {
	p, err := parseToken(token, q.fingerprint())
	if err != nil {
		return position{}, err
	}
	if p.partition < q.first || p.partition > q.last || !q.contains(p.from) {
		return position{}, invalid(
			"page_token is outside of the requested range: send next_page_token of the previous page unchanged, or omit it to start again")
	}
	return p, nil
}

// fingerprint distinguishes requests whose pages would not fit together. The page size may change
// between pages.
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
