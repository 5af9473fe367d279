package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	peersTimeout = 3 * time.Second        // of one call of the PeerSource
	maxPeersAge  = 200 * time.Millisecond // a younger answer is used again
)

// peers caches which processes share the partitions. A stale entry does no harm: a process that is
// asked for a partition that it does not have returns an error, and the caller refreshes the cache.
type peers struct {
	source PeerSource
	flight singleflight.Group
	mu     sync.Mutex
	list   []Peer
	at     time.Time // zero: not asked yet
}

// get returns the cached list, or asks the source if refresh is set or the cache is empty. With an
// error it returns the list that was known before.
func (p *peers) get(ctx context.Context, refresh bool) ([]Peer, error) {
	p.mu.Lock()
	list, at := p.list, p.at
	p.mu.Unlock()
	if !at.IsZero() && (!refresh || time.Since(at) < maxPeersAge) {
		return list, nil
	}
	// One call serves all callers that wait, so its timeout is not that of the first caller.
	asked := p.flight.DoChan("", func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), peersTimeout)
		defer cancel()
		list, err := p.source.Peers(ctx)
		if err != nil {
			return nil, err
		}
		p.mu.Lock()
		p.list, p.at = list, time.Now()
		p.mu.Unlock()
		return list, nil
	})
	select {
	case <-ctx.Done():
		return list, ctx.Err()
	case got := <-asked:
		if fresh, ok := got.Val.([]Peer); ok && got.Err == nil {
			return fresh, nil
		}
		return list, got.Err
	}
}

// owner returns the owner of a partition.
func owner(list []Peer, partition int32) (Peer, bool) {
	i := slices.IndexFunc(list, func(p Peer) bool { return slices.Contains(p.Partitions, partition) })
	if i < 0 {
		return Peer{}, false
	}
	return list[i], true
}
