package state

import (
	"errors"
	"fmt"
	"strconv"
	"sync"

	"github.com/weirhq/weir/stream"
)

// Reader is what Table.Get reads: a *stream.Context, or a stream.Get such as Task.Get.
type Reader interface {
	Get(table byte, key []byte) ([]byte, error)
}

// Writer is what Table.Put and Table.Delete write to: a *stream.Context, or the *stream.Changes of
// a Flush.
type Writer interface {
	Put(table byte, key, value []byte)
	Delete(table byte, key []byte)
	Fail(err error)
}

// Ranger is what the scans of a Table read: a *stream.Context, or a stream.Range such as
// Task.Range.
type Ranger interface {
	Range(table byte, from, to []byte, fn func(key, value []byte) error) error
}

// Table describes one table: its number, its name if it has one, and the codecs of its keys and
// values. It is safe for concurrent use.
type Table[K, V any] struct {
	number  byte
	name    string // "" for a table of NewTable
	keys    Codec[K]
	values  Codec[V]
	scratch sync.Pool // of *[]byte
}

// Named describes a table of a processor by its number and its name. Processor.Tables must have it,
// see Tables. The store knows a table by its number, from 1 to 126: its rows belong to the number,
// and a number is not used again for rows of other codecs. The name is for people: it is in the
// texts of errors, in commands and in the API, and can change.
func Named[K, V any](number byte, name string, keys Codec[K], values Codec[V]) *Table[K, V] {
	return &Table[K, V]{number: number, name: name, keys: keys, values: values}
}

// Tables describes tables of Named for Processor.Tables.
func Tables(list ...interface{ Info() stream.TableInfo }) []stream.TableInfo {
	infos := make([]stream.TableInfo, len(list))
	for i, t := range list {
		infos[i] = t.Info()
	}
	return infos
}

// NewTable describes table number of a processor without a name, which Processor.Tables need not
// have. Tables are numbered from 1 to 126, or from 128 to 255 where they are local, see
// stream.FirstLocalTable. A record function cannot use a table that has the number of a table of
// Named: its transaction is abandoned.
func NewTable[K, V any](number byte, keys Codec[K], values Codec[V]) *Table[K, V] {
	return &Table[K, V]{number: number, keys: keys, values: values}
}

// Number is the number of the table.
func (t *Table[K, V]) Number() byte { return t.number }

// Get returns the value of key, and whether the table has one. The error means that the store could
// not be read, or that a codec failed: return it from the record function.
func (t *Table[K, V]) Get(r Reader, key K) (v V, ok bool, err error) {
	if err := t.check(r); err != nil {
		return v, false, err
	}
	buf := t.buffer()
	defer t.scratch.Put(buf)
	if *buf, err = t.keys.Append((*buf)[:0], key); err != nil {
		return v, false, t.failed("encode", key, err)
	}
	b, err := r.Get(t.number, *buf)
	if err != nil {
		return v, false, t.failed("read", key, err)
	}
	if b == nil {
		return v, false, nil
	}
	got, err := t.values.Decode(b)
	if err != nil {
		return v, false, t.failed("decode", key, err)
	}
	return got, true, nil
}

// Put sets key to v. If a codec fails, the transaction is abandoned.
func (t *Table[K, V]) Put(w Writer, key K, v V) {
	if err := t.check(w); err != nil {
		w.Fail(err)
		return
	}
	buf := t.buffer()
	defer t.scratch.Put(buf)
	b, err := t.keys.Append((*buf)[:0], key)
	n := len(b)
	if err == nil {
		b, err = t.values.Append(b, v)
	}
	if *buf = b; err != nil {
		w.Fail(t.failed("encode", key, err))
		return
	}
	w.Put(t.number, b[:n:n], b[n:])
}

// Delete removes key. It is not an error if the table does not have it.
func (t *Table[K, V]) Delete(w Writer, key K) {
	if err := t.check(w); err != nil {
		w.Fail(err)
		return
	}
	buf := t.buffer()
	defer t.scratch.Put(buf)
	var err error
	if *buf, err = t.keys.Append((*buf)[:0], key); err != nil {
		w.Fail(t.failed("encode", key, err))
		return
	}
	w.Delete(t.number, *buf)
}

// Scan calls fn for all rows, in order of the encoded keys, until fn returns an error, which it
// returns; stream.ErrStopScan ends it without an error. Of changes that fn makes it sees those
// after the current key, if r is a *stream.Context.
func (t *Table[K, V]) Scan(r Ranger, fn func(key K, v V) error) error {
	return t.scan(r, nil, nil, fn)
}

// ScanPrefix is Scan for the keys whose encoding begins with that of prefix. It is for String and
// Bytes, and for codecs of your own.
func (t *Table[K, V]) ScanPrefix(r Ranger, prefix K, fn func(key K, v V) error) error {
	from, err := t.keys.Append(nil, prefix)
	if err != nil {
		return t.failed("encode", prefix, err)
	}
	return t.scan(r, from, stream.PrefixEnd(from), fn)
}

// ScanRange is Scan for the keys from from up to, not including, to.
func (t *Table[K, V]) ScanRange(r Ranger, from, to K, fn func(key K, v V) error) error {
	upper, err := t.keys.Append([]byte{}, to)
	if err != nil {
		return t.failed("encode", to, err)
	}
	lower, err := t.keys.Append(nil, from)
	if err != nil {
		return t.failed("encode", from, err)
	}
	return t.scan(r, lower, upper, fn)
}

// ScanFrom is Scan for the keys from from on.
func (t *Table[K, V]) ScanFrom(r Ranger, from K, fn func(key K, v V) error) error {
	lower, err := t.keys.Append(nil, from)
	if err != nil {
		return t.failed("encode", from, err)
	}
	return t.scan(r, lower, nil, fn)
}

func (t *Table[K, V]) scan(r Ranger, from, to []byte, fn func(key K, v V) error) error {
	if err := t.check(r); err != nil {
		return err
	}
	err := r.Range(t.number, from, to, func(key, value []byte) error {
		k, err := t.keys.Decode(key)
		if err != nil {
			return fmt.Errorf("table %s: decode key %q: %w", t, key, err)
		}
		v, err := t.values.Decode(value)
		if err != nil {
			return t.failed("decode", k, err)
		}
		return fn(k, v)
	})
	if errors.Is(err, stream.ErrStopScan) {
		return nil
	}
	return err
}

// check returns an error if the processor of a record function does not have the table, or has
// another one of its number. Where both are in Processor.Tables, that is noticed at the start.
func (t *Table[K, V]) check(of any) error {
	if c, ok := of.(*stream.Context); ok {
		return c.CheckTable(t.number, t.name)
	}
	return nil
}

// String returns the name of the table, or its number.
func (t *Table[K, V]) String() string {
	if t.name == "" {
		return strconv.Itoa(int(t.number))
	}
	return strconv.Quote(t.name)
}

func (t *Table[K, V]) buffer() *[]byte {
	if b, ok := t.scratch.Get().(*[]byte); ok {
		return b
	}
	return new([]byte)
}

// failed is the error of doing something with a row.
func (t *Table[K, V]) failed(what string, key K, err error) error {
	switch k := any(key).(type) {
	case string, []byte:
		return fmt.Errorf("table %s: %s key %q: %w", t, what, k, err)
	default:
		return fmt.Errorf("table %s: %s key %v: %w", t, what, k, err)
	}
}
