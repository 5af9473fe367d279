package node

import (
	"context"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

const (
	reachPause  = time.Second      // between two tries to reach a broker
	reachReport = 10 * time.Second // between two reports that no broker can be reached
	closedLimit = 2 * time.Minute  // for brokers that close each connection at once
)

// brokers are the brokers of a process, for which its roles wait at the start: a process may start
// before them. All roles share it.
type brokers struct {
	cluster kafka.Cluster
	log     zerolog.Logger

	mu sync.Mutex // held by the role that asks
}

// await returns nil when a broker has answered, or ctx has ended. While none accepts connections,
// it tries again. Brokers that answer wrongly, or accept connections and do not answer, are an
// error: often one side uses TLS and the other side does not. A proxy in front of a broker that
// starts accepts connections and closes them at once, so that is an error after closedLimit only.
func (b *brokers) await(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	k := b.cluster
	k.Waiting = func(brokers []string) { b.log.Warn().Strs("brokers", brokers).Msg("brokers_waiting") }
	var reported, closed time.Time
	for {
		err := k.Reach(ctx)
		if err == nil || ctx.Err() != nil {
			return nil
		}
		switch {
		case kafka.ClosedAtOnce(err):
			if closed.IsZero() {
				closed = time.Now()
			}
			if time.Since(closed) >= closedLimit {
				return err
			}
		case !kafka.Unreachable(err):
			return err
		default:
			closed = time.Time{}
		}
		if now := time.Now(); now.Sub(reported) >= reachReport {
			reported = now
			b.log.Warn().Strs("brokers", k.Brokers).Err(err).Msg("brokers_waiting")
		}
		if !pause.For(ctx, reachPause) {
			return nil
		}
	}
}
