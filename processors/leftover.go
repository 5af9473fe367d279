package processors

import (
	"cmp"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/internal/txn"
)

// leftoverGuard keeps a session from writing to a broker that has restarted while its last
// transaction hangs.
//
// A broker that restarts without other replicas can leave out the end markers of transactions whose
// commit it has acknowledged (KAFKA-20734). Such a transaction stays open in a partition, and the
// end of the next transaction of the same producer that writes to the partition is the outcome of
// both: an abort would discard outputs and state that the worker has taken for committed. A
// producer needs a new connection for the first record that it writes to a restarted broker. So the
// guard holds each new connection of the session until it has asked for the last transaction. If
// that hangs, the guard closes the connection and ends the session, and the next session ends the
// transaction: see txn.Recovery.EndLeftover.
//
// The guard does not see a broker that stops for longer than its session with the controller and
// keeps its connections. It gives up if a partition does not answer for some seconds, or if the
// process may not ask.
type leftoverGuard struct {
	check func(context.Context) (txn.Leftover, error)
	found func() // ends the session
	log   zerolog.Logger
	hold  time.Duration // the longest for which connections wait

	begun, ended atomic.Int64 // transactions

	ctx    context.Context // of the session
	busy   chan struct{}   // holds one token while a connection asks: a mutex would not end with ctx
	closed int64           // the transactions up to this one are closed
	hangs  bool
	logged bool
}

var errUnseen = errors.New("a partition does not answer")

const leftoverPause = 50 * time.Millisecond

// begin is called before the first record of a transaction.
func (g *leftoverGuard) begin() { g.begun.Add(1) }

// end is called when the end of a transaction has been acknowledged.
func (g *leftoverGuard) end() { g.ended.Store(g.begun.Load()) }

// OnBrokerConnect implements kgo.HookBrokerConnect. The client uses the connection when it returns.
func (g *leftoverGuard) OnBrokerConnect(_ kgo.BrokerMetadata, _ time.Duration, conn net.Conn, err error) {
	if err == nil && !g.passes() {
		_ = conn.Close() // the client tries again
	}
}

func (g *leftoverGuard) passes() bool {
	ctx, cancel := context.WithTimeout(g.ctx, g.hold)
	defer cancel()
	select {
	case g.busy <- struct{}{}:
		defer func() { <-g.busy }()
	case <-ctx.Done():
		return false
	}
	for !g.hangs && g.ctx.Err() == nil {
		ended := g.ended.Load()
		if g.begun.Load() == g.closed {
			return true
		}
		what, err := g.check(ctx)
		switch {
		case g.ctx.Err() != nil:
			return false
		case err != nil || what == txn.Unseen:
		case what == txn.Hanging:
			g.hangs = true
			g.found()
			return false
		case what == txn.Nothing:
			g.closed = ended
			return true
		default:
			return true
		}
		if (err == nil || txn.Transient(err)) && pause.For(ctx, leftoverPause) {
			continue
		}
		if err != nil && txn.Away(err) {
			return false
		}
		if !g.logged {
			g.logged = true
			g.log.Warn().Err(cmp.Or(err, errUnseen)).Msg("hanging_transaction_scan_failed")
		}
		return true
	}
	return false
}
