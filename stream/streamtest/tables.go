package streamtest

import (
	"bytes"
	"maps"
	"slices"

	"github.com/weirhq/weir/stream"
)

// tables is the committed state: values by table and key.
type tables map[byte]map[string][]byte

func (t tables) table(n byte) map[string][]byte {
	if t[n] == nil {
		t[n] = map[string][]byte{}
	}
	return t[n]
}

// apply makes a change of state.
func (t tables) apply(c *stream.Change) {
	rows := t.table(c.Table)
	switch c.Op {
	case stream.OpPut:
		rows[string(c.Key)] = append([]byte{}, c.Value...) // not nil
	case stream.OpDelete:
		delete(rows, string(c.Key))
	case stream.OpEmit: // no change of state
	case stream.OpDeleteRange:
		maps.DeleteFunc(rows, func(k string, _ []byte) bool { return k >= string(c.Key) && k < string(c.Value) })
	}
}

// get returns a copy of the value of key, nil if key has no value.
func (t tables) get(table byte, key []byte) ([]byte, error) {
	v, ok := t[table][string(key)]
	if !ok {
		return nil, nil
	}
	return append([]byte{}, v...), nil // not nil
}

func (t tables) scan(table byte, prefix []byte, fn func(key, value []byte) error) error {
	return t.scanRange(table, prefix, stream.PrefixEnd(prefix), fn)
}

func (t tables) scanRange(table byte, from, to []byte, fn func(key, value []byte) error) error {
	for _, k := range slices.Sorted(maps.Keys(t[table])) {
		if k < string(from) || to != nil && bytes.Compare([]byte(k), to) >= 0 {
			continue
		}
		if err := fn([]byte(k), bytes.Clone(t[table][k])); err != nil {
			return err
		}
	}
	return nil
}
