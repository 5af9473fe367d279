package mirror

import (
	"cmp"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/logreader"
)

// Status is the state of the copying of one partition.
type Status struct {
	Peer      string
	Topic     string // at the peer
	Partition int32
	Next      int64 // the offset to copy next; -1: nothing was copied, and the peer has not answered
	End       int64 // the end of the peer's committed records; -1: not known
	Copied    int64 // records copied since the partition came to this process
	// LagMs is an upper bound of the age of the records that wait at the peer, by this datacentre's
	// clock, whether the peer answers or not; -1: not known. It is the time since the last copied
	// record, or since the brokers of the peer were asked when nothing waited, whichever is later.
	LagMs int64
	// LastMs is the timestamp of the last record that was copied since the partition came to this
	// process, heartbeats included, Unix ms; 0: none was.
	LastMs  int64
	Problem string // why nothing is copied now, a sentence; empty if it is
	Stopped bool   // Problem waits for an operator
	// Resume is the Instruction that lets a stopped partition continue, without Who, Why and AtMs.
	// Its To is 0 and its TopicID is that of Next if the offset is not known. Nil: no instruction
	// helps.
	Resume *Instruction
	// Recreated is whether the log of Resume is another one than that of the position: the topic
	// was created again, or its brokers have lost copied records.
	Recreated bool
}

// Lag returns the number of offsets that wait at the peer.
func (s Status) Lag() int64 {
	if s.End < 0 || s.Next < 0 {
		return 0
	}
	return max(0, s.End-s.Next)
}

// StatusRegistry holds the Status of each partition that this process copies. The zero value is
// ready. It is safe for concurrent use.
type StatusRegistry struct {
	mu   sync.Mutex
	list map[*copier]Status
}

// List returns all, ordered by peer, topic and partition.
func (r *StatusRegistry) List() (list []Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.list {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b Status) int {
		return cmp.Or(cmp.Compare(a.Peer, b.Peer), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	return list
}

func (r *StatusRegistry) set(c *copier, s Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = map[*copier]Status{}
	}
	r.list[c] = s
}

func (r *StatusRegistry) remove(c *copier) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.list, c)
}

// status returns the state of the copier.
func (c *copier) status(now time.Time) Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Status{Peer: c.peer.DC, Topic: c.topic, Partition: c.m.task.Partition, Next: -1, End: -1, Copied: c.copied, Problem: c.problem}
	s.LastMs = c.lastMs
	if c.part != nil {
		p := c.part.Status()
		s.Next, s.End, s.Problem, s.Stopped = p.At.Next, p.End, p.Reason, p.Stopped != nil
		s.Resume = c.resume(p)
		s.Recreated = s.Resume != nil && s.Resume.TopicID != p.At.Topic
		if p.End >= 0 && p.At.Next >= p.End {
			c.caughtMs = max(c.caughtMs, p.EndAt.UnixMilli())
		}
	}
	if c.refused != nil {
		s.Problem, s.Stopped, s.Resume = c.refused.Error(), errors.As(c.refused, new(*ClaimedError)), nil
	}
	s.LagMs = c.lagMs(now.UnixMilli())
	return s
}

// lagMs returns Status.LagMs. The mutex is held.
func (c *copier) lagMs(nowMs int64) int64 {
	since := c.caughtMs
	if c.lastMs <= nowMs { // otherwise the clock of its producer is ahead, and its age is not known
		since = max(since, c.lastMs)
	}
	if since == 0 {
		return -1
	}
	return max(0, nowMs-since)
}

// resume returns Status.Resume for the state of a partition.
func (c *copier) resume(p logreader.Status) *Instruction {
	i := Instruction{Peer: c.peer.DC, Topic: c.topic, From: p.At.Next, TopicID: p.At.Topic}
	var gone *kafka.UnreadableError
	var again *logreader.RecreatedError
	var short *logreader.TruncatedError
	switch {
	case errors.As(p.Stopped, &gone):
		i.To = gone.Resume
	case errors.As(p.Stopped, &again):
		i.TopicID = again.Is
	case errors.As(p.Stopped, &short):
		i.To = short.Resume
		i.TopicID = lostLog(position{Position: p.At, Log: c.log}.log(), i.From, i.To)
	default:
		return nil
	}
	return &i
}

// report publishes the state in the registry and in metrics.
func (c *copier) report() {
	s := c.status(time.Now())
	c.m.cfg.Registry.set(c, s)
	c.m.cfg.Metrics.set(s)
	c.peer.observe(c, s)
}
