package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

const (
	peersTimeout = 3 * time.Second        // of one question to the PeerSource
	maxPeersAge  = 200 * time.Millisecond // an answer so young is not asked for again
)

// peers remembers who shares the partitions until somebody finds that it is wrong. That it is old does no harm: a process
// that is asked for what it does not have says so.
type peers struct {
	source PeerSource
	flight singleflight.Group
	mu     sync.Mutex
	list   []Peer
	at     time.Time // zero: never asked
}

// get gives what is remembered, or asks anew if that is wanted or nothing is. With an error comes what was known before.
func (p *peers) get(ctx context.Context, anew bool) ([]Peer, error) {
	p.mu.Lock()
	list, at := p.list, p.at
	p.mu.Unlock()
	if !at.IsZero() && (!anew || time.Since(at) < maxPeersAge) {
		return list, nil
	}
	// One asks for all that wait, so its time is not that of the first of them.
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

// owner is who owns a partition.
func owner(list []Peer, partition int32) (Peer, bool) {
	i := slices.IndexFunc(list, func(p Peer) bool { return slices.Contains(p.Partitions, partition) })
	if i < 0 {
		return Peer{}, false
	}
	return list[i], true
}
