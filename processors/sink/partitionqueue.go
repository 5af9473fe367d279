package sink

import (
	"time"

	"github.com/weirhq/weir/stream"
)

// entry is a record in a queue.
type entry struct {
	stream.SinkRecord
	key   string // of Sink.Key
	bytes int
	next  *entry // the next of the same key
	done  bool
	timer *time.Timer // of the next attempt
	err   error       // of the last call of Do
	// failures are the calls that have failed, of GiveUp, too. Attempt counts calls of Do.
	failures int
}

// partitionQueue holds the records of one partition in order, from the first that is not done to
// the last that was fetched. It does no I/O. The consumer's mutex guards it.
type partitionQueue struct {
	entries   []*entry
	lastByKey map[string]*entry // the last record of each key that has records not done
	ready     []*entry          // the first records of their keys that are not taken
	next      int64             // the next offset to fetch; -1: not known yet
	epoch     int32             // leader epoch of the last record
	bytes     int               // of the records that are not done
}

func newPartitionQueue() *partitionQueue {
	return &partitionQueue{lastByKey: map[string]*entry{}, next: -1, epoch: -1}
}

// add appends a record.
func (l *partitionQueue) add(e *entry) {
	e.bytes = len(e.Key) + len(e.Value)
	for _, h := range e.Headers {
		e.bytes += len(h.Key) + len(h.Value)
	}
	l.bytes += e.bytes
	l.entries = append(l.entries, e)
	l.next = e.Offset + 1
	if before := l.lastByKey[e.key]; before != nil {
		before.next = e
	} else {
		l.ready = append(l.ready, e)
	}
	l.lastByKey[e.key] = e
}

// take returns a record for which Do may be called now, nil while all wait.
func (l *partitionQueue) take() *entry {
	if len(l.ready) == 0 {
		return nil
	}
	e := l.ready[0]
	l.ready[0] = nil
	l.ready = l.ready[1:]
	return e
}

// requeue makes a taken record ready again.
func (l *partitionQueue) requeue(e *entry) { l.ready = append(l.ready, e) }

// finish marks a taken record as done, and makes the next record of its key ready.
func (l *partitionQueue) finish(e *entry) {
	e.done = true
	e.Key, e.Value, e.Headers = nil, nil, nil
	l.bytes -= e.bytes
	if e.next != nil {
		l.ready = append(l.ready, e.next)
		e.next = nil
	} else {
		delete(l.lastByKey, e.key)
	}
	for len(l.entries) > 0 && l.entries[0].done {
		l.entries[0] = nil
		l.entries = l.entries[1:]
	}
}

// committable returns the offset to commit: that of the first record that is not done. It is -1
// before the first fetch.
func (l *partitionQueue) committable() int64 {
	if len(l.entries) > 0 {
		return l.entries[0].Offset
	}
	return l.next
}
