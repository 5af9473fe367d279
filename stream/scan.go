package stream

import (
	"errors"
	"slices"
)

// Get reads state as of the handler's last Flush: the value of key in table, nil if the key has
// none. The caller owns the slice.
type Get func(table byte, key []byte) ([]byte, error)

// Get calls the function: package state reads its tables through this method.
func (g Get) Get(table byte, key []byte) ([]byte, error) { return g(table, key) }

// Multi returns a MultiGet that calls g for one key after the other.
func (g Get) Multi() MultiGet {
	return func(table byte, keys [][]byte, fn func(i int, value []byte) error) error {
		for i, key := range keys {
			value, err := g(table, key)
			if err == nil && value != nil {
				err = fn(i, value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// MultiGet is Get for many keys, which must be in ascending order: neighbours are read together,
// which takes a fraction of the time of single reads where the state does not fit in memory. It
// calls fn with the index and the value of each key that has a value, in order, until fn returns an
// error, which it returns. The value is valid during the call only.
type MultiGet func(table byte, keys [][]byte, fn func(i int, value []byte) error) error

// Scan reads state as of the handler's last Flush: it calls fn for each key of table that begins
// with prefix, in order of the keys, until fn returns an error, which it returns. Key and value are
// valid during the call only.
type Scan func(table byte, prefix []byte, fn func(key, value []byte) error) error

// Range is Scan for the keys from from up to, not including, to. A nil to is the end of the table.
type Range func(table byte, from, to []byte, fn func(key, value []byte) error) error

// Range calls the function: package state scans its tables through this method.
func (r Range) Range(table byte, from, to []byte, fn func(key, value []byte) error) error {
	return r(table, from, to, fn)
}

// scanRange is Range, for a Task that may have Scan alone.
func (t *Task) scanRange(table byte, from, to []byte, fn func(key, value []byte) error) error {
	if t.Range != nil {
		return t.Range(table, from, to, fn)
	}
	n := 0
	for n < min(len(from), len(to)) && from[n] == to[n] {
		n++
	}
	err := t.Scan(table, from[:n], func(key, value []byte) error {
		switch {
		case string(key) < string(from):
			return nil
		case to != nil && string(key) >= string(to):
			return errRangeEnd
		}
		return fn(key, value)
	})
	if errors.Is(err, errRangeEnd) {
		return nil
	}
	return err
}

var errRangeEnd = errors.New("end of the range")

// PrefixEnd returns the first key after all keys that begin with prefix, for Range. It returns nil,
// the end of the table, if prefix is empty or has only bytes 0xff.
func PrefixEnd(prefix []byte) []byte {
	end := slices.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}
