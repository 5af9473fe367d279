package processors

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// brokerLiveness records when a broker last answered one of the runtime's clients. A group member
// sends several heartbeats within a session timeout, so a longer silence means that no broker is
// reachable.
type brokerLiveness struct {
	began time.Time    // with the monotonic clock, which a change of the wall clock does not move
	last  atomic.Int64 // time of the last answer, as a duration after began
}

func newBrokerLiveness() *brokerLiveness { return &brokerLiveness{began: time.Now()} }

// OnBrokerRead implements kgo.HookBrokerRead.
func (p *brokerLiveness) OnBrokerRead(_ kgo.BrokerMetadata, _ int16, _ int, _, _ time.Duration, err error) {
	if err == nil {
		p.last.Store(int64(time.Since(p.began)))
	}
}

func (p *brokerLiveness) idle() time.Duration {
	return time.Since(p.began) - time.Duration(p.last.Load())
}

// BrokerIdle returns the time since a broker last answered one of the runtime's clients. cutOff
// reports whether that is longer than the session timeout: then the brokers are down, or this
// process is cut off and other processes may have its partitions. Its state can still be read, but
// does not change.
func (r *Runtime) BrokerIdle() (d time.Duration, cutOff bool) {
	d = r.liveness.idle()
	return d, d > r.cfg.SessionTimeout
}

var _ kgo.HookBrokerRead = (*brokerLiveness)(nil)
