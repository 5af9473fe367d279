package processors

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/stream"
)

// Owner is the process that has a partition.
type Owner struct {
	Partition int32
	Instance  string // Config.Instance of the process; empty while no process has the partition
	Endpoint  string // Config.Endpoint of the process; empty if it has none
	Self      bool   // it is this process
}

// Owner returns the process that has the partition of a key: the partition to which Kafka's Java
// client and the outputs of processors write the key (stream.Murmur2). Where the inputs have
// another partitioner, use OwnerOf.
//
// A partition of this process needs no request. For others it asks the brokers, for three seconds
// at most, and uses the answer for a second. So for a second after a move of the partition, the
// former owner may be returned. While the group rebalances the brokers name no owners: the last
// ones they named are returned for ten seconds, and then none. Callers that follow redirects limit
// their number, and pause. Owner returns ErrNotRunning while Run is not at work.
func (r *Runtime) Owner(ctx context.Context, key []byte) (Owner, error) {
	return r.OwnerOf(ctx, r.partitionOf(key))
}

// OwnerOf is Owner for a partition.
func (r *Runtime) OwnerOf(ctx context.Context, partition int32) (Owner, error) {
	cache := r.owners.Load()
	switch {
	case cache == nil:
		return Owner{}, ErrNotRunning
	case partition < 0 || partition >= r.Partitions():
		return Owner{}, r.whyNot(partition)
	case r.owns(partition) || cache.isAssigned(partition):
		return Owner{Partition: partition, Instance: r.cfg.Instance, Endpoint: r.cfg.Endpoint, Self: true}, nil
	}
	return cache.of(ctx, partition)
}

// partitionOf returns the partition of a key in topics of Kafka's default partitioner.
func (r *Runtime) partitionOf(key []byte) int32 { return stream.Murmur2(key, max(1, r.Partitions())) }

// owns reports whether this process has a partition, in any state but that of a standby.
func (r *Runtime) owns(partition int32) bool {
	if r.directory().at(partition) != nil {
		return true
	}
	for _, s := range r.Status() {
		if s.Partition == partition && s.State != StateStandby {
			return true
		}
	}
	return false
}

const (
	maxOwnersAge  = time.Second      // a younger answer of the brokers is used again
	maxOwnersKept = 10 * time.Second // for which the last owners are used while the brokers name none
	ownersTimeout = 3 * time.Second  // of one request
)

// ownerCache has the owners of all partitions: of those of this process from its assignments, and
// of the others from the brokers.
type ownerCache struct {
	adm       *kadm.Client
	app, self string
	turn      chan struct{} // has room for one: the caller that asks the brokers

	mu         sync.Mutex
	assigned   map[int][]int32 // to this process, by worker: the brokers may name the former owner longer
	assignedAt time.Time       // of the last change of assigned
	asked      time.Time       // when the last question began that was answered
	owners     map[int32]Owner // of the last answer that has some
	known      time.Time       // when its question began
}

func newOwnerCache(adm *kadm.Client, r *Runtime) *ownerCache {
	return &ownerCache{adm: adm, app: r.proc.App, self: r.cfg.Instance, turn: make(chan struct{}, 1), assigned: map[int][]int32{}}
}

// onAssignment gets the assignment of a worker of this process. What the brokers said before it is
// old.
func (c *ownerCache) onAssignment(worker int, partitions []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.assigned[worker], c.assignedAt = partitions, time.Now()
}

func (c *ownerCache) isAssigned(partition int32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, list := range c.assigned {
		if slices.Contains(list, partition) {
			return true
		}
	}
	return false
}

func (c *ownerCache) isFresh() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked.After(c.assignedAt) && time.Since(c.asked) < maxOwnersAge
}

// of returns the owner of a partition that this process does not have.
func (c *ownerCache) of(ctx context.Context, partition int32) (Owner, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Owner{}, ctx.Err() //nolint:wrapcheck // the caller's own
	}
	if !c.isFresh() {
		if err := c.ask(ctx); err != nil {
			return Owner{}, fmt.Errorf("ask the brokers which process has partition %d of %s: %w", partition, c.app, err)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	owner, ok := c.owners[partition]
	if !ok || owner.Instance == c.self || time.Since(c.known) >= maxOwnersKept {
		owner = Owner{Partition: partition}
	}
	return owner, nil
}

// ask fetches the owners. While the group rebalances the brokers do not know them.
func (c *ownerCache) ask(ctx context.Context) error {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, ownersTimeout)
	defer cancel()
	members, err := describeMembers(ctx, c.adm, c.app)
	if err != nil {
		return err
	}
	owners := map[int32]Owner{}
	for _, m := range members {
		for _, p := range m.Partitions {
			owners[p] = Owner{Partition: p, Instance: m.Instance, Endpoint: m.Endpoint}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked = began; len(owners) > 0 {
		c.owners, c.known = owners, began
	}
	return nil
}
