package processors

import (
	"context"
	"fmt"
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
// at most, and uses the answer for a second. After a move of the partition the former owner may be
// returned for that long; a redirect to it leads on to the new owner. Owner returns ErrNotRunning
// while Run is not at work.
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
	case r.owns(partition):
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
	maxOwnersAge  = time.Second     // a younger answer of the brokers is used again
	ownersTimeout = 3 * time.Second // of one request
)

// ownerCache has the owners of all partitions, from the brokers.
type ownerCache struct {
	adm       *kadm.Client
	app, self string
	turn      chan struct{} // has room for one: the caller that uses the fields below
	list      []Owner       // by partition
	at        time.Time     // of the answer
}

func newOwnerCache(adm *kadm.Client, r *Runtime, partitions int32) *ownerCache {
	c := &ownerCache{adm: adm, app: r.proc.App, self: r.cfg.Instance, turn: make(chan struct{}, 1), list: make([]Owner, partitions)}
	for p := range c.list {
		c.list[p].Partition = int32(p)
	}
	return c
}

// of returns the owner of a partition.
func (c *ownerCache) of(ctx context.Context, partition int32) (Owner, error) {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return Owner{}, ctx.Err() //nolint:wrapcheck // the caller's own
	}
	if time.Since(c.at) >= maxOwnersAge {
		if err := c.ask(ctx); err != nil {
			return Owner{}, fmt.Errorf("ask the brokers which process has partition %d of %s: %w", partition, c.app, err)
		}
	}
	return c.list[partition], nil
}

// ask fetches the owners. While the group rebalances the brokers do not know them, and the former
// ones remain.
func (c *ownerCache) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, ownersTimeout)
	defer cancel()
	members, err := describeMembers(ctx, c.adm, c.app)
	if err != nil {
		return err
	}
	list, known := make([]Owner, len(c.list)), false
	for p := range list {
		list[p].Partition = int32(p)
	}
	for _, m := range members {
		for _, p := range m.Partitions {
			if int(p) < len(list) {
				list[p], known = Owner{p, m.Instance, m.Endpoint, m.Instance == c.self}, true
			}
		}
	}
	if c.at = time.Now(); known {
		c.list = list
	}
	return nil
}
