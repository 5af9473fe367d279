package spendsim

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// entry is a committed record of a log.
type entry struct {
	stream.Record
	at         int64 // step at which it was committed
	event      *eventspb.AdEvent
	adjustment *eventspb.Adjustment
}

// log is one partition of a topic. Offsets that no entry has are those of markers and of aborted
// records.
type log struct {
	topic   string
	entries []entry
	next    int64
}

func (l *log) add(e entry) {
	e.Offset = l.next
	l.next++
	l.entries = append(l.entries, e)
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

// slice returns at most n entries from an index on.
func (l *log) slice(from, n int) []entry { return l.entries[from:min(from+n, len(l.entries))] }
