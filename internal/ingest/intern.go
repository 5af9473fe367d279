package ingest

import (
	"bytes"
	"unicode/utf8"
)

const (
	maxIDBytes    = 256     // of any id, as in the counter
	maxInterned   = 1 << 16 // strings kept; files with more distinct ones only lose the saving
	maxKnownPrice = 1 << 12
)

// memo remembers what a short text was found to mean. It forgets everything when it is full: cheap, and right for
// values that come in runs.
type memo[V any] struct {
	known map[string]V
	limit int
}

func newMemo[V any](limit int) memo[V] { return memo[V]{known: make(map[string]V), limit: limit} }

func (m *memo[V]) put(key string, v V) {
	if len(m.known) >= m.limit {
		clear(m.known)
	}
	m.known[key] = v
}

// text returns b as a string that is checked once and then shared by all events that carry it.
func (b *builder) text(name string, v []byte) (string, *Rejection) {
	if len(v) == 0 {
		return "", nil
	}
	if s, ok := b.strings.known[string(v)]; ok {
		return s, nil
	}
	if err := checkID(name, v); err != nil {
		return "", err
	}
	s := string(v)
	b.strings.put(s, s)
	return s, nil
}

// checkID refuses what the counter, or protobuf, would refuse in an id.
func checkID(name string, v []byte) *Rejection {
	switch {
	case len(v) > maxIDBytes:
		return reject(ReasonID, "%s has %d bytes and %d are allowed", name, len(v), maxIDBytes)
	case bytes.IndexByte(v, 0) >= 0:
		return reject(ReasonID, "%s %q has a NUL byte", name, clip(v))
	case !utf8.Valid(v):
		return reject(ReasonID, "%s %q is not UTF-8", name, clip(v))
	}
	return nil
}
