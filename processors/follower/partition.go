package follower

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/processors/kafka"
)

// States of a partition.
const (
	StateWaiting   = "waiting"   // the topic does not exist, or the partition cannot be read; see Reason
	StateLoading   = "loading"   // the partition is read from its start
	StateFollowing = "following" // changes are applied as they come
)

// Status is the state of a partition, for display.
type Status struct {
	Topic     string
	Partition int32 // -1: of a topic whose partitions are not known
	State     string
	// Next is the offset to read next: in the load, while the state is StateLoading.
	Next int64
	// End is the end of the committed records that the brokers reported last.
	End int64
	// AsOf is the last time at which the rows lacked no committed record. It is exact to about a
	// second. Zero: there are no complete rows yet. The age of the rows is the time since then.
	AsOf time.Time
	// Skipped is the number of records without a usable key since Run began.
	Skipped int64
	// Reason is why the partition is not read, or the last error of reading it.
	Reason string
	// Unreadable is set while the log has a batch at Next that cannot be decoded: the rows stay as
	// they were at AsOf. The section Damaged logs of the package has the ways on.
	Unreadable *kafka.UnreadableError
}

// id names a partition of a topic.
type id struct {
	topic string
	n     int32
}

// partition is a partition that the follower has or reads. The goroutine of Run changes it while it
// holds Follower.mu.
type partition struct {
	position
	topic   Topic
	slot    int32         // of the rows; -1: no rows
	load    *load         // nil: no load is under way
	active  bool          // the client reads it
	keeps   time.Duration // how long the topic keeps tombstones
	reload  string        // why the rows cannot be continued
	retryAt time.Time
	failed  kafka.FailedFetch      // of the client's position
	damaged *kafka.UnreadableError // nil: the next batch can be decoded, as far as is known
	end     int64                  // of the committed records, at endAt
	endAt   time.Time              // when the brokers were asked for end
	skipped atomic.Int64
	reason  string
	written time.Time // when the position was written
}

// at returns the offset to read next.
func (p *partition) at() int64 {
	if p.load != nil {
		return p.load.next.Load()
	}
	return p.Next
}

// clientPosition returns where the client reads on.
func (p *partition) clientPosition() kafka.Position {
	epoch := p.Epoch
	if p.load != nil {
		epoch = p.load.epoch
	}
	return kafka.Position{Topic: p.Topic, Partition: p.Partition, Offset: p.at(), Epoch: &epoch}
}

// observeEnd updates the time as of which the rows are complete.
func (p *partition) observeEnd() {
	if p.slot >= 0 && p.load == nil && p.active {
		p.observe(p.end, p.endAt)
	}
}

// tombstonesLost reports whether the log may lack tombstones behind the position, given how long
// the topic keeps tombstones. A time as of the future is the work of a clock that was set back.
func (p *partition) tombstonesLost(keeps time.Duration) bool {
	age := time.Since(p.AsOf)
	return age > keeps || age < -time.Minute
}

func (p *partition) status() Status {
	s := Status{
		Topic: p.topic.Name, Partition: p.Partition, State: StateWaiting, Next: p.at(), End: p.end, AsOf: p.AsOf, Skipped: p.skipped.Load(),
		Reason: p.reason, Unreadable: p.damaged,
	}
	switch {
	case p.damaged != nil:
		s.Reason = p.damaged.Error()
	case p.active && p.load != nil:
		s.State = StateLoading
	case p.active:
		s.State = StateFollowing
	}
	return s
}

// Status returns the state of all partitions, ordered by topic and partition. A topic of which no
// partition is known has one entry.
func (f *Follower) Status() []Status {
	f.mu.RLock()
	defer f.mu.RUnlock()
	var list []Status
	known := map[string]bool{}
	for _, p := range f.parts {
		list = append(list, p.status())
		known[p.topic.Name] = true
	}
	for _, t := range f.cfg.Topics {
		if !known[t.Name] {
			list = append(list,
				Status{Topic: t.Name, Partition: -1, State: StateWaiting, Reason: cmp.Or(f.missing[t.Name], "no broker has answered yet")})
		}
	}
	slices.SortFunc(list, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}

// AsOf returns the time as of which all rows are complete. Zero: there are no complete rows of some
// topic yet. The age of the rows is the time since then.
func (f *Follower) AsOf() (oldest time.Time) {
	for i, s := range f.Status() {
		if i == 0 || s.AsOf.Before(oldest) {
			oldest = s.AsOf
		}
	}
	return oldest
}
