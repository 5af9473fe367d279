package stream

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// Sink describes an action on another system for each record of a topic: see the section Sinks of
// the package documentation. Package processors/sink runs it. Group, Topic and Do must be set.
type Sink struct {
	// Group is the consumer group, whose committed offsets are the positions of the sink.
	Group string
	// Topic is the topic whose records the sink acts on.
	Topic string
	// Do acts on the other system. A nil error means that the record is done. After an error the
	// runner calls it again, with growing pauses, until it succeeds: an outage holds records up,
	// and skips none. Do returns nil for a record that can never succeed, and reports it itself; or
	// Retries and GiveUp do.
	//
	// Do may be called more than once for a record, by two processes at once when the group has
	// removed a process that does not know it yet. So the action must be repeatable, such as a
	// conditional write. Do is called by several goroutines, and ends soon after its context.
	Do func(ctx context.Context, r *SinkRecord) error
	// Key returns the key of a record. Records of one partition with equal keys are done one after
	// another, in the order of their offsets. Defaults to the key of the Kafka record.
	Key func(r *SinkRecord) string

	// Concurrency bounds the concurrent calls of Do in a process. Defaults to 64.
	Concurrency int
	// PerPartition bounds the concurrent calls for one partition. Defaults to Concurrency.
	PerPartition int
	// Pending bounds the records of a partition in memory, from the first that is not done to the
	// last that was fetched: at the bound, fetching pauses. One poll of 1,000 records may exceed
	// it. Defaults to 20,000.
	Pending int
	// PendingBytes is the same bound for the bytes of the records that are not done. Defaults to
	// 16 MiB.
	PendingBytes int
	// RetryMin and RetryMax bound the pause before Do is called again for a record. The pause
	// doubles from RetryMin to RetryMax, and is shortened at random by up to a half. Default to 100
	// ms and 10 s.
	RetryMin, RetryMax time.Duration
	// Retries bounds how often Do is called again for a record in one process. If the last of these
	// calls fails, GiveUp is called in place of Do. Defaults to 0: Do is called until it succeeds.
	// An outage uses up the calls of all records that wait, so set it where the other system
	// refuses single records.
	Retries int
	// GiveUp takes a record whose calls have failed, with the error of the last one: it writes the
	// record to another place, for example. It has the rules of Do, and is called until it returns
	// nil. It must be set if Retries is. Each record is a warning in the log, sink_gave_up.
	GiveUp func(ctx context.Context, r *SinkRecord, last error) error
	// SkipTrimmed continues at the first record that the topic still has, with a warning, where
	// retention has deleted records before they were read. It is for actions that are requested
	// again. Defaults to stopping the partition. A batch that cannot be decoded stops it in both
	// cases.
	SkipTrimmed bool
}

// SinkRecord is a record of a sink's topic. Do may keep it.
type SinkRecord struct {
	Topic      string
	Partition  int32
	Offset     int64
	Key, Value []byte
	Headers    []Header // nil for most records
	TimeMs     int64    // the record's own timestamp, Unix ms
	// Attempt is the number of calls of Do for this record before, in this process. Calls of GiveUp
	// do not count.
	Attempt int
}

// Time is the record's own timestamp.
func (r *SinkRecord) Time() time.Time { return time.UnixMilli(r.TimeMs) }

// Complete sets the fields that have defaults and checks all of them. The runner calls it.
func (s *Sink) Complete() error {
	for _, n := range []string{s.Group, s.Topic} {
		if !ValidName(n) {
			return fmt.Errorf(
				"sink %q of topic %q: %q is not a legal name of a group or topic: use 1 to 200 letters, digits, '.', '_' or '-'", s.Group,
				s.Topic, n)
		}
	}
	switch {
	case s.Do == nil:
		return fmt.Errorf("sink %q: Do is nil: give the function that acts on a record", s.Group)
	case s.Concurrency < 0 || s.PerPartition < 0 || s.Pending < 0 || s.PendingBytes < 0:
		return fmt.Errorf(
			"sink %q: Concurrency is %d, PerPartition %d, Pending %d and PendingBytes %d: none may be negative; 0 is the default", s.Group,
			s.Concurrency, s.PerPartition, s.Pending, s.PendingBytes)
	case s.Retries < 0 || (s.Retries > 0) != (s.GiveUp != nil):
		return fmt.Errorf("sink %q: Retries is %d, and GiveUp is set: %t: give a positive number and a function, or neither", s.Group,
			s.Retries, s.GiveUp != nil)
	case s.RetryMin < 0 || s.RetryMax < 0:
		return fmt.Errorf("sink %q: RetryMin is %s and RetryMax %s: none may be negative; 0 is the default", s.Group, s.RetryMin,
			s.RetryMax)
	}
	if s.Key == nil {
		s.Key = func(r *SinkRecord) string { return string(r.Key) }
	}
	s.Concurrency = cmp.Or(s.Concurrency, 64)
	s.PerPartition = cmp.Or(s.PerPartition, s.Concurrency)
	s.Pending = cmp.Or(s.Pending, 20_000)
	s.PendingBytes = cmp.Or(s.PendingBytes, 16<<20)
	s.RetryMin = cmp.Or(s.RetryMin, 100*time.Millisecond)
	s.RetryMax = cmp.Or(s.RetryMax, 10*time.Second)
	return nil
}
