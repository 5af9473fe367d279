package processors

import (
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// brokerLiveness remembers when a broker last answered one of the runtime's clients. A member of a group asks for a heartbeat several
// times in a session timeout, so silence for longer than that means that nobody hears us.
type brokerLiveness struct {
	began time.Time    // of the monotonic clock: a jump of the day's time is no silence
	last  atomic.Int64 // after began
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

// BrokerIdle is how long no broker has answered any of the runtime's clients, and cutOff whether that is longer than the group
// waits for a member: then the brokers are away, or this process is cut off from them and others fold its partitions. Its
// state can still be read; nothing new comes to it.
func (r *Runtime) BrokerIdle() (d time.Duration, cutOff bool) {
	d = r.liveness.idle()
	return d, d > r.cfg.SessionTimeout
}

var _ kgo.HookBrokerRead = (*brokerLiveness)(nil)
