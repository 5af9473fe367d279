package stream

import (
	"log/slog"
	"time"
)

// Record is one input record. Key, Value and Headers are valid until Fold returns.
type Record struct {
	Key, Value []byte
	Headers    []Header // nil for most records
	Offset     int64
	TimeMs     int64 // the record's own timestamp, Unix ms
}

// Time is the record's own timestamp.
func (r *Record) Time() time.Time { return time.UnixMilli(r.TimeMs) }

// Header is a header of an input or output record.
type Header struct {
	Key   string
	Value []byte
}

// Batch is a run of records of one topic and partition, in offset order.
type Batch struct {
	Topic     string
	Partition int32
	Records   []Record
	NowMs     int64 // wall time of the poll, Unix ms: for health figures only, never for state
	// WatermarkMs is the event time of the task, Unix ms, where the handler is a TimerHandler: the
	// timers up to it have fired. 0 before the first advance.
	WatermarkMs int64

	Rejects []Reject // set by the handler: the records that it refused
}

// Reject is a record that a handler refused. The runtime writes it to the dead-letter topic. The
// handler's state must be as if the record had never arrived.
type Reject struct {
	Index int // in Batch.Records
	// Reason is from a closed set, e.g. "negative_price": it becomes a metric label and a header.
	// The runtime replaces what is not UTF-8 in it by U+FFFD.
	Reason string
	Detail string // explains the reason to a person
}

// Reject refuses record i of the batch.
func (b *Batch) Reject(i int, reason, detail string) {
	b.Rejects = append(b.Rejects, Reject{Index: i, Reason: reason, Detail: detail})
}

// Task is what Processor.New gets when a process takes over a partition.
type Task struct {
	Partition  int32
	OwnerEpoch uint64           // grows with each owner of the partition
	Next       map[string]int64 // next input offset per topic, as committed; 0 if none was committed
	LocalNext  map[string]int64 // offsets up to which local tables are complete; nil: they are lost
	Get        Get              // reads the state as of the last Flush, see Handler
	MultiGet   MultiGet         // Get for many keys
	Scan       Scan             // reads the state as of the last Flush, see Handler
	Range      Range            // reads the state as of the last Flush, see Handler
	Timers     Timers           // for a TimerHandler
	// Wake requests a commit soon, and not at the next tick. Any goroutine may call it, also while
	// the handler is made. It costs a few nanoseconds while an earlier request waits. It has no
	// effect once the handler is discarded. A handler that wakes itself in each Flush keeps its
	// worker busy.
	Wake func()
	// Log is the log of the runtime, with the fields app, worker and partition. Nil without a
	// runtime.
	Log *slog.Logger

	tables tableNames // of the processor
}

// Commit describes the transaction that a Flush ends.
type Commit struct {
	NowMs       int64            // wall time, Unix ms: for health figures and their schedule only
	Incarnation uint64           // when the state of the task began, Unix ms; a state that begins again has a greater one
	OwnerEpoch  uint64           // Task.OwnerEpoch
	Sequence    uint64           // of this task's transaction, from 1
	Next        map[string]int64 // next input offset per topic after this commit
}
