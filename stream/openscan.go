package stream

import (
	"maps"
	"slices"
)

// scan calls fn for each key in [from, to), as openTables has it at that moment.
func (o *openTables) scan(table byte, from, to []byte, fn func(key, value []byte) error) error {
	t := o.table(table)
	t.sort()
	next, more := t.order.from(string(from)) // the next changed key
	var buf []byte
	// visit calls fn for the next changed key.
	visit := func() error {
		r := t.rows[next]
		var err error
		if r.state == rowPut {
			buf = append(buf[:0], next...)
			err = fn(buf, r.value[:len(r.value):len(r.value)])
		}
		next, more = t.order.from(next + "\x00")
		return err
	}
	err := o.task.scanRange(table, from, to, func(key, value []byte) error {
		for more && next < string(key) {
			if err := visit(); err != nil {
				return err
			}
		}
		if more && next == string(key) {
			r := t.rows[next]
			if r.state.changed() {
				return visit()
			}
			next, more = t.order.from(next + "\x00") // its change was undone
		}
		err := fn(key, value)
		next, more = t.order.from(string(key) + "\x00") // fn may have changed keys that are ahead
		return err
	})
	for err == nil && more && (to == nil || next < string(to)) {
		err = visit()
	}
	return err
}

// sort lists the changed rows. From now on change keeps the list.
func (t *openTable) sort() {
	if t.order != nil {
		return
	}
	t.order = &keyList{}
	for _, k := range slices.Sorted(maps.Keys(t.rows)) {
		if r := t.rows[k]; r.state.changed() {
			t.order.insert(k)
			r.listed = true
		}
	}
}
