package processors

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"golang.org/x/sync/singleflight"

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
	owner, err := cache.of(ctx, partition)
	if err != nil && r.owners.Load() != cache { // Run has closed the client
		err = ErrNotRunning
	}
	return owner, err
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
	maxOwnersAge  = time.Second      // for which an answer of the brokers, or an error, is used again
	maxOwnersKept = 10 * time.Second // for which the last owners are used while the brokers name none
	ownersTimeout = 3 * time.Second  // of a request
)

// ownerCache has the owners of all partitions: of those of this process from its assignments, and
// of the others from the brokers.
type ownerCache struct {
	adm       *kadm.Client
	app, self string
	asking    singleflight.Group // the request of all callers

	mu         sync.Mutex
	assigned   map[int][]int32 // to this process, by worker: the brokers may name the former owner longer
	assignedAt time.Time       // of the last change of assigned
	freshUntil time.Time       // of the last answer
	err        error           // of the last answer
	owners     map[int32]Owner // of the last answer that has some
	known      time.Time       // when its request began
}

func newOwnerCache(adm *kadm.Client, r *Runtime) *ownerCache {
	return &ownerCache{adm: adm, app: r.proc.App, self: r.cfg.Instance, assigned: map[int][]int32{}}
}

// onAssignment gets the assignment of a worker of this process. What the brokers said before it is
// old.
func (c *ownerCache) onAssignment(worker int, partitions []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.assigned[worker], c.assignedAt, c.freshUntil = partitions, time.Now(), time.Time{}
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
	return time.Now().Before(c.freshUntil)
}

// of returns the owner of a partition that this process does not have.
func (c *ownerCache) of(ctx context.Context, partition int32) (Owner, error) {
	if !c.isFresh() {
		request := context.WithoutCancel(ctx) // of all callers, of which this one may leave
		select {
		case <-c.asking.DoChan("", func() (any, error) { c.ask(request); return nil, nil }):
		case <-ctx.Done():
			return Owner{}, ctx.Err() //nolint:wrapcheck // the caller's own
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch owner, ok := c.owners[partition]; {
	case c.err != nil:
		return Owner{}, fmt.Errorf("ask the brokers which process has partition %d of %s: %w", partition, c.app, c.err)
	case ok && owner.Instance != c.self && time.Since(c.known) < maxOwnersKept:
		return owner, nil
	}
	return Owner{Partition: partition}, nil
}

// ask fetches the owners. While the group rebalances the brokers do not know them. An answer to a
// request from before the last assignment is old at once.
func (c *ownerCache) ask(ctx context.Context) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, ownersTimeout)
	defer cancel()
	members, err := describeMembers(ctx, c.adm, c.app)
	owners := map[int32]Owner{}
	for _, m := range members {
		for _, p := range m.Partitions {
			owners[p] = Owner{Partition: p, Instance: m.Instance, Endpoint: m.Endpoint}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err = err; began.After(c.assignedAt) {
		c.freshUntil = time.Now().Add(maxOwnersAge)
	}
	if len(owners) > 0 {
		c.owners, c.known = owners, began
	}
}
