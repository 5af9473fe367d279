package stream

import (
	"slices"
	"strings"
)

// openTables is the state of an open transaction over the state as of the last Flush: what was
// changed, and what was read. It can undo what the current record changed.
type openTables struct {
	task   *Task
	tables [TimerTable]*openTable

	record  uint64     // number of the current record, from 1
	touched []*openRow // rows that it changed
	bytes   int        // of all changes
	before  int        // bytes before the current record

	last      *openRow // result of the last find: often a Put follows a Get of the same key
	lastTable byte
	read      int        // bytes of rows that were only read
	free      []*openRow // for reuse
}

type openTable struct {
	rows  map[string]*openRow
	order *keyList // of the changed rows; nil until the first scan
}

const (
	maxReadBytes = 4 << 20 // rows that were only read are kept up to this
	maxFree      = 1 << 14
)

// begin makes the changes from now on those of a new record.
func (o *openTables) begin() {
	o.record++
	o.touched, o.before = o.touched[:0], o.bytes
}

// undo takes back what the current record changed.
func (o *openTables) undo() {
	for _, r := range o.touched {
		r.value, r.before, r.state, r.record = r.before, r.value, r.stateBefore, 0
	}
	o.touched, o.bytes = o.touched[:0], o.before
}

func (o *openTables) table(n byte) *openTable {
	t := o.tables[n]
	if t == nil {
		t = &openTable{rows: map[string]*openRow{}}
		o.tables[n] = t
	}
	return t
}

func (o *openTables) get(table byte, key []byte) ([]byte, error) {
	t := o.table(table)
	r := o.find(table, key)
	if r == nil || r.state == rowUnread {
		v, err := o.task.Get(table, key)
		if err != nil || r == nil && o.read > maxReadBytes {
			return v, err
		}
		if r == nil {
			r = o.add(t, key)
		}
		o.read += len(key) + len(v)
		r.value, r.state = v, rowRead
	}
	if r.state == rowDeleted {
		return nil, nil
	}
	return r.value[:len(r.value):len(r.value)], nil
}

// find returns the row of key, nil if it has none.
func (o *openTables) find(table byte, key []byte) *openRow {
	if r := o.last; r != nil && o.lastTable == table && r.key == string(key) {
		return r
	}
	r := o.tables[table].rows[string(key)]
	if r != nil {
		o.last, o.lastTable = r, table
	}
	return r
}

// add makes a row of a key that has none.
func (o *openTables) add(t *openTable, key []byte) *openRow {
	r := &openRow{}
	if n := len(o.free) - 1; n >= 0 {
		r, o.free = o.free[n], o.free[:n]
	}
	r.key = string(key)
	t.rows[r.key] = r
	return r
}

// change makes value, or its absence, the state of key.
func (o *openTables) change(table byte, key []byte, state rowState, value []byte) {
	t := o.table(table)
	r := o.find(table, key)
	if r == nil {
		r = o.add(t, key)
	}
	o.bytes -= r.size()
	if r.record != o.record {
		r.record, r.stateBefore = o.record, r.state
		r.value, r.before = r.before, r.value
		o.touched = append(o.touched, r)
	}
	if r.value = append(r.value[:0], value...); r.value == nil { // value may be a part of r.value
		r.value = []byte{}
	}
	r.state = state
	o.bytes += r.size()
	if t.order != nil && !r.listed {
		t.order.insert(r.key)
		r.listed = true
	}
}

// flush hands over all changes, in order of table and key, and forgets everything.
func (o *openTables) flush(ch *Changes) {
	var changed []*openRow
	for n, t := range o.tables {
		if t == nil {
			continue
		}
		changed = changed[:0]
		for _, r := range t.rows {
			if r.state.changed() {
				changed = append(changed, r)
			}
		}
		slices.SortFunc(changed, func(a, b *openRow) int { return strings.Compare(a.key, b.key) })
		for _, r := range changed {
			if r.state == rowPut {
				ch.Put(byte(n), []byte(r.key), r.value)
			} else {
				ch.Delete(byte(n), []byte(r.key))
			}
		}
		o.clear(t)
	}
	o.touched, o.last, o.bytes, o.before, o.read = o.touched[:0], nil, 0, 0, 0
}

func (o *openTables) clear(t *openTable) {
	for _, r := range t.rows {
		if len(o.free) == maxFree {
			break
		}
		*r = openRow{value: r.value[:0], before: r.before[:0]}
		o.free = append(o.free, r)
	}
	if len(t.rows) > maxFree {
		t.rows = map[string]*openRow{} // a large map is slow to clear
	}
	clear(t.rows)
	if t.order != nil {
		t.order = &keyList{}
	}
}
