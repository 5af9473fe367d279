package txn

import (
	"cmp"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// Partitioner chooses the partitions of a worker's records for its client. A record with a
// partition keeps it. A record without one, see Emitted, gets the choice of its output's
// partitioner.
type Partitioner struct {
	outputs map[string]*stream.Output // by topic

	mu  sync.Mutex
	bad map[*kgo.Record]error // records without a valid partition, until Explain is called
}

// partitionError is the error of a record whose partition does not exist or whose partitioner
// failed. Healthy brokers would reject it again.
type partitionError struct{ why string }

func (e *partitionError) Error() string { return e.why }

// NewPartitioner returns the partitioner of the records that a processor writes.
func NewPartitioner(outputs []stream.Output) *Partitioner {
	p := &Partitioner{outputs: map[string]*stream.Output{}, bad: map[*kgo.Record]error{}}
	for i := range outputs {
		p.outputs[outputs[i].Topic] = &outputs[i]
	}
	return p
}

// Option returns the client option that installs the partitioner.
func (p *Partitioner) Option() kgo.Opt {
	return kgo.RecordPartitioner(kgo.BasicConsistentPartitioner(func(topic string) func(*kgo.Record, int) int {
		o := p.outputs[topic]
		return func(r *kgo.Record, n int) int { return p.choose(o, r, int32(n)) }
	}))
}

// choose returns the partition of r, or -1, which fails the record.
func (p *Partitioner) choose(o *stream.Output, r *kgo.Record, n int32) (partition int) {
	defer func() {
		if v := recover(); v != nil {
			partition = p.fail(r, fmt.Sprintf("the partitioner of output %q (topic %s) panicked: %v", o.Name, o.Topic, v))
		}
	}()
	if r.Partition >= 0 {
		if r.Partition >= n && o != nil {
			return p.fail(r,
				fmt.Sprintf("emit to partition %d of output %q: its topic %s has %d partitions, numbered from 0", r.Partition, o.Name,
					o.Topic, n))
		}
		return int(r.Partition)
	}
	to := stream.Destination{Output: o, Partition: stream.ByPartitioner}
	got := to.PartitionOf(r.Key, ^r.Partition, n)
	if got < 0 || got >= n {
		return p.fail(r, fmt.Sprintf("the partitioner of output %q (topic %s) chose partition %d of %d", o.Name, o.Topic, got, n))
	}
	return int(got)
}

func (p *Partitioner) fail(r *kgo.Record, why string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bad[r] = &partitionError{why}
	return -1
}

// Explain returns the reason why r has no partition. Without one it returns err, the client's
// error.
func (p *Partitioner) Explain(r *kgo.Record, err error) error {
	if err == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if why := p.bad[r]; why != nil {
		delete(p.bad, r)
		return why
	}
	return err
}

// Emitted returns the record of an OpEmit of task p. If the output's partitioner has to choose the
// partition, the record's partition is the complement of p, which choose reads.
func Emitted(c *stream.Change, p int32, commitMs int64) kgo.Record {
	r := kgo.Record{
		Topic: c.To.Output.Topic, Partition: c.To.Partition, Key: c.Key, Value: c.Value,
		Timestamp: time.UnixMilli(cmp.Or(c.To.TimeMs, commitMs)),
	}
	if r.Partition == stream.ByPartitioner {
		r.Partition = ^p
	}
	for _, h := range c.To.Headers {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: h.Key, Value: h.Value})
	}
	return r
}
