package sink

import "time"

// Record is one record of the topic.
type Record struct {
	Partition  int32
	Offset     int64
	Key, Value []byte
	Time       time.Time
	// Attempt is how often Do was called for it by this consumer before.
	Attempt int
}

// entry is a record in its line.
type entry struct {
	Record
	key   string
	bytes int
	next  *entry // the next of the same key
	done  bool
	timer *time.Timer // until it is tried again
}

// partitionQueue is one partition's records from the first that is not done to the last that was fetched, in their order. It does no
// I/O; the consumer's mutex guards it.
type partitionQueue struct {
	entries   []*entry
	lastByKey map[string]*entry // of each key that is not all done
	ready     []*entry          // may be called: first of their keys
	next      int64             // offset that is fetched next
	epoch     int32             // of the leader that gave the last record
	bytes     int               // of records that are not done
}

func newPartitionQueue() *partitionQueue {
	return &partitionQueue{lastByKey: map[string]*entry{}, next: -1, epoch: -1}
}

// add puts a record at the end.
func (l *partitionQueue) add(e *entry) {
	e.bytes = len(e.Key) + len(e.Value)
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

// take gives a record that may be called now, nil if there is none.
func (l *partitionQueue) take() *entry {
	if len(l.ready) == 0 {
		return nil
	}
	e := l.ready[0]
	l.ready[0] = nil
	l.ready = l.ready[1:]
	return e
}

// requeue makes a record that was taken ready to be taken.
func (l *partitionQueue) requeue(e *entry) { l.ready = append(l.ready, e) }

// finish is told that a record that was taken is done: the next of its key may be called.
func (l *partitionQueue) finish(e *entry) {
	e.done = true
	e.Record.Key, e.Value = nil, nil
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

// committable is the offset of the first record that is not done; -1 if nothing is known of the partition yet.
func (l *partitionQueue) committable() int64 {
	if len(l.entries) > 0 {
		return l.entries[0].Offset
	}
	return l.next
}
