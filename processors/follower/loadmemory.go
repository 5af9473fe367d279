package follower

import "slices"

// maxWriting is the number of tables of loads that are written at the same time.
const maxWriting = 2

// loadMemory bounds the memory of loads. A load does not use the store's memtables. A quarter of
// their memory is for the rows that loads collect, and as much for each table that is written.
type loadMemory struct {
	limit     int     // of collected
	collected int     // bytes of rows that no table has yet
	writing   []*load // that write a table, the oldest first
}

// makeRoom writes the rows of the largest load if the loads have collected too many.
func (f *Follower) makeRoom() error {
	if f.memory.collected < f.memory.limit {
		return nil
	}
	var largest *load
	for _, p := range f.parts {
		if p.load != nil && (largest == nil || p.load.bulk.Bytes() > largest.bulk.Bytes()) {
			largest = p.load
		}
	}
	return f.write(largest)
}

// write begins to write the rows that a load has collected. It waits while too many tables are
// being written.
func (f *Follower) write(l *load) error {
	m := &f.memory
	m.writing = slices.DeleteFunc(m.writing, func(l *load) bool { return !l.bulk.Writing() })
	if len(m.writing) >= maxWriting {
		if err := m.writing[0].bulk.Wait(); err != nil {
			return err
		}
		m.writing = m.writing[1:]
	}
	m.collected -= l.bulk.Bytes()
	m.writing = append(m.writing, l)
	return l.bulk.Spill()
}
