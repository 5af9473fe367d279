package spendsim

import (
	"github.com/weirhq/weir/stream"
)

// entry is a record of a log, with the time at which readers can have it.
type entry struct {
	stream.Record
	at int64 // step time at which it was committed
}

// log is one partition of a topic. Offsets that no entry has are those of markers and of aborted
// records.
type log struct {
	topic   string
	entries []entry
	next    int64
}

func (l *log) add(at int64, rec stream.Record) {
	rec.Offset = l.next
	l.next++
	l.entries = append(l.entries, entry{rec, at})
}

// skip leaves offsets without a committed record.
func (l *log) skip(n int64) { l.next += n }

// from returns the index of the first entry at or after an offset.
func (l *log) from(offset int64) int {
	lo, hi := 0, len(l.entries)
	for lo < hi {
		if m := (lo + hi) / 2; l.entries[m].Offset < offset {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// records returns at most n records from an index on.
func (l *log) records(from, n int) []stream.Record {
	list := make([]stream.Record, 0, n)
	for i := from; i < len(l.entries) && len(list) < n; i++ {
		list = append(list, l.entries[i].Record)
	}
	return list
}
