package simkafka

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Cluster is a fake Kafka cluster. Close it.
type Cluster struct {
	*kfake.Cluster
	net     kfake.VirtualNetwork
	unstick sync.WaitGroup
	closed  chan struct{}

	mu            sync.Mutex
	answersToLose map[kmsg.Key]int // number of answers to lose, by kind of request
	lost          int
	damaged       []byte // what answers have with another first byte
	refusing      string // address of a broker that accepts no connection
	ended         map[string]map[int32]EpochEnd
	ids           []idPair
}

// New starts a cluster of three brokers and creates topics with the given number of partitions.
func New(partitions int32, topics ...string) (*Cluster, error) {
	return NewWithBrokers(3, partitions, topics...)
}

// NewWithBrokers is New with one to three brokers. Each broker costs every client additional
// fetches.
func NewWithBrokers(brokers int, partitions int32, topics ...string) (*Cluster, error) {
	c := &Cluster{answersToLose: map[kmsg.Key]int{}, ended: map[string]map[int32]EpochEnd{}, closed: make(chan struct{})}
	ports := []int{9093, 9094, 9095}
	if brokers < 1 || brokers > len(ports) {
		return nil, fmt.Errorf("start the fake cluster: %d brokers: 1 to %d are possible", brokers, len(ports))
	}
	var err error
	c.Cluster, err = kfake.NewCluster(kfake.NumBrokers(brokers), kfake.Ports(ports[:brokers]...), kfake.ListenFn(c.net.Listen),
		kfake.SeedTopics(partitions, topics...))
	if err != nil {
		return nil, fmt.Errorf("start the fake cluster: %w", err)
	}
	return c, nil
}

// LoseAnswers drops the answers to the next n requests of a kind: the broker carries the request
// out, and the client receives no answer. n = 0 stops the losses.
func (c *Cluster) LoseAnswers(key kmsg.Key, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answersToLose[key] = n
}

// Lost returns the number of dropped answers.
func (c *Cluster) Lost() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lost
}

// RefuseConnections makes the broker at an address refuse new connections, as if its process had
// died. It remains the leader of its partitions. An empty address ends it.
func (c *Cluster) RefuseConnections(addr string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusing = addr
}

func (c *Cluster) refuses(addr string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return addr == c.refusing
}

func (c *Cluster) takeLoss(key kmsg.Key) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answersToLose[key] <= 0 {
		return false
	}
	c.answersToLose[key]--
	return true
}

// Damage changes the first byte of text wherever an answer of the brokers has it, as a bad disk
// does. An empty text ends the damage.
func (c *Cluster) Damage(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.damaged = []byte(text)
}

// idPair is a topic id of kfake, and the one that clients see instead.
type idPair struct{ own, seen [16]byte }

// TakeID makes a topic have, for clients, the id of a topic of another cluster: a topic keeps its
// id when its brokers lose its records. Call it before the first client.
func (c *Cluster) TakeID(topic string, id [16]byte) {
	own := c.TopicInfo(topic).TopicID
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids = append(c.ids, idPair{own, id})
}

// showIDs replaces the ids of TakeID in an answer.
func (c *Cluster) showIDs(answer []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range c.ids {
		replace(answer, p.own[:], p.seen[:])
	}
}

// hideIDs returns a request with the ids of kfake.
func (c *Cluster) hideIDs(request []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.ids) == 0 {
		return request
	}
	request = bytes.Clone(request) // the client may send it again
	for _, p := range c.ids {
		replace(request, p.seen[:], p.own[:])
	}
	return request
}

func replace(text, old, with []byte) {
	for i := bytes.Index(text, old); i >= 0; i = bytes.Index(text, old) {
		copy(text[i:], with)
	}
}

// damage changes what Damage has named.
func (c *Cluster) damage(answer []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := 0; len(c.damaged) > 0; i++ {
		next := bytes.Index(answer[i:], c.damaged)
		if next < 0 {
			return
		}
		i += next
		answer[i] ^= 1
	}
}

// Read returns all committed records of a topic, partition by partition.
func (c *Cluster) Read(ctx context.Context, topic string) ([]*kgo.Record, error) {
	l := c.Link()
	ask, err := kgo.NewClient(l.Options()...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer ask.Close()
	adm := kadm.NewClient(ask)
	starts, err := adm.ListStartOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("read the start of %s: %w", topic, err)
	}
	ends, err := adm.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("read the end of %s: %w", topic, err)
	}
	from, left := map[int32]kgo.Offset{}, map[int32]int64{}
	ends.Each(func(end kadm.ListedOffset) {
		if start, ok := starts.Lookup(topic, end.Partition); ok && start.Offset < end.Offset {
			from[end.Partition], left[end.Partition] = kgo.NewOffset().At(start.Offset), end.Offset
		}
	})
	if len(from) == 0 {
		return nil, nil
	}
	cl, err := kgo.NewClient(append(l.Options(), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: from}),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.ConsumeResetOffset(kgo.NoResetOffset()))...)
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	return drain(ctx, cl, topic, left)
}

// drain polls until every partition in left has been read up to its end offset.
func drain(ctx context.Context, cl *kgo.Client, topic string, left map[int32]int64) ([]*kgo.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	parts := map[int32][]*kgo.Record{}
	last := int32(0)
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil, fmt.Errorf("read %s: partitions %v were not read to the end: %w", topic, left, ctx.Err())
		}
		fetches.EachRecord(func(r *kgo.Record) {
			end, open := left[r.Partition]
			if open && r.Offset < end && !r.Attrs.IsControl() {
				parts[r.Partition] = append(parts[r.Partition], r)
			}
			if last = max(last, r.Partition); open && r.Offset+1 >= end {
				delete(left, r.Partition)
			}
		})
	}
	var out []*kgo.Record
	for p := range last + 1 {
		out = append(out, parts[p]...)
	}
	return out, nil
}
