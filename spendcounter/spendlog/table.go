package spendlog

import (
	"iter"

	"github.com/weirhq/weir/events"
)

// Table holds the newest row of each key of one writer: SPEND-31. The zero value is empty. It is
// not safe for concurrent use.
type Table struct {
	partitions map[int32]*partition
}

type partition struct {
	incarnation uint64 // the greatest that was seen
	rows        map[Key]Row
}

// Apply takes a record of a partition of spend.by.<dc>. It reports whether the record changed the
// table: not if it is to be skipped, or is older than what the table has.
func (t *Table) Apply(number int32, key, value []byte) (changed bool, err error) {
	row, ok, err := Decode(key, value)
	if err != nil || !ok {
		return false, err
	}
	p := t.partitions[number]
	if p == nil {
		if t.partitions == nil {
			t.partitions = map[int32]*partition{}
		}
		p = &partition{rows: map[Key]Row{}}
		t.partitions[number] = p
	}
	was, known := p.rows[row.Key]
	now := row.version()
	switch {
	case now == nil:
		delete(p.rows, row.Key)
		return known, nil
	case now.GetIncarnation() < p.incarnation || known && events.CompareVersions(now, was.version()) <= 0:
		return false, nil
	case now.GetIncarnation() > p.incarnation: // the rows so far are of a state that was deleted
		p.incarnation = now.GetIncarnation()
		clear(p.rows)
	}
	p.rows[row.Key] = row
	return true, nil
}

// Get returns the row of a key.
func (t *Table) Get(key Key) (row Row, ok bool) {
	for _, p := range t.partitions {
		if row, ok = p.rows[key]; ok {
			return row, true
		}
	}
	return Row{}, false
}

// All returns all rows, in no order.
func (t *Table) All() iter.Seq[Row] {
	return func(yield func(Row) bool) {
		for _, p := range t.partitions {
			for _, row := range p.rows {
				if !yield(row) {
					return
				}
			}
		}
	}
}
