//go:build synctests

package logreader_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/processors/logreader"
)

// TestCloseWhileAway: goroutines open, read and close partitions and ask for their status, while
// the brokers come and go and a topic is created again. None holds a mutex for the time of a
// request: the clock of a bubble does not move while a goroutine waits for a mutex, so the test
// would hang. No Close waits for brokers that are away.
func TestCloseWhileAway(t *testing.T) {
	for seed := range uint64(5) {
		run(t, nil, func(x *fixture) { closeWhileAway(x, seed) })
	}
}

func closeWhileAway(x *fixture, seed uint64) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var running sync.WaitGroup
	for n := range int32(2) {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		running.Go(func() {
			for ctx.Err() == nil {
				p, err := x.r.Open("in", n, logreader.Start()) //nolint:contextcheck // ctx ends the test
				if err != nil {
					x.Error(err)
					return
				}
				openFor(ctx, p, time.Duration(rng.IntN(20))*100*time.Millisecond) // often at the same time
				began := time.Now()
				p.Close()
				if took := time.Since(began); took > 2*time.Second {
					x.Errorf("Close took %s", took)
				}
			}
		})
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	for ctx.Err() == nil {
		x.produce("in", int32(rng.IntN(2)), "a", "b")
		time.Sleep(time.Duration(rng.IntN(1_000_000)) * time.Microsecond)
		switch rng.IntN(4) {
		case 0:
			x.link.Cut()
			time.Sleep(time.Duration(rng.IntN(1_000_000)) * time.Microsecond)
			x.link.Heal()
		case 1:
			x.cluster.ShufflePartitionLeaders()
		case 2:
			if err := errors.Join(x.cluster.DeleteTopic("in"), x.cluster.CreateTopic("in", 2, nil)); err != nil {
				x.Error(err)
			}
			x.cl.Close()
			x.cl = x.client() // a client does not adopt the new topic
		}
	}
	running.Wait()
}

// TestOpenWhileClosing: a partition is opened while the last one is being closed, which ends the
// session. Open waits for that, and holds up no clock: with a mutex this test hangs.
func TestOpenWhileClosing(t *testing.T) {
	run(t, nil, func(x *fixture) {
		x.produce("in", 0, "a")
		p := x.open("in", 0, logreader.Start())
		x.want(p, "a")
		var closing sync.WaitGroup
		closing.Go(p.Close)
		synctest.Wait() // Close waits for the clients
		x.want(x.open("in", 0, logreader.Start()), "a")
		closing.Wait()
	})
}

// openFor reads a partition and asks for its status for a time.
func openFor(ctx context.Context, p *logreader.Partition, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() {
		var b logreader.Batch
		for ctx.Err() == nil {
			_ = p.Next(ctx, &b, 1)
		}
	})
	for ctx.Err() == nil {
		p.Status()
		time.Sleep(300 * time.Microsecond)
	}
	running.Wait()
}
