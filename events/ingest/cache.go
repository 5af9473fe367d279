package ingest

import (
	"strings"
	"unicode/utf8"

	"github.com/weirhq/weir/stream"
)

const (
	maxIDBytes      = 256     // of any id, as in the spend counter
	maxCachedTexts  = 1 << 16 // a file with more distinct texts only loses the saving
	maxCachedValues = 1 << 12
)

// cache keeps what short texts were parsed to. A full cache is emptied: cheap, and good for values
// that repeat in runs.
type cache[V any] struct {
	known map[string]V
	limit int
}

func newCache[V any](limit int) cache[V] { return cache[V]{known: make(map[string]V), limit: limit} }

// put adds v. It copies key, which may be a part of a long row.
func (c *cache[V]) put(key string, v V) {
	if len(c.known) >= c.limit {
		clear(c.known)
	}
	c.known[strings.Clone(key)] = v
}

// text checks a text once and returns a copy that all events with this text share.
func (b *builder) text(name, v string) (string, *stream.RejectError) {
	if v == "" {
		return "", nil
	}
	if s, ok := b.texts.known[v]; ok {
		return s, nil
	}
	if err := checkID(name, v); err != nil {
		return "", err
	}
	v = strings.Clone(v)
	b.texts.put(v, v)
	return v, nil
}

// checkID refuses an id that the spend counter or protobuf would refuse.
func checkID(name, v string) *stream.RejectError {
	switch {
	case len(v) > maxIDBytes:
		return reject(ReasonID, "%s has %d bytes and %d are allowed", name, len(v), maxIDBytes)
	case strings.IndexByte(v, 0) >= 0:
		return reject(ReasonID, "%s %q contains a NUL byte: remove it", name, clip(v))
	case !utf8.ValidString(v):
		return reject(ReasonID, "%s %q is not UTF-8: convert the file", name, clip(v))
	}
	return nil
}
