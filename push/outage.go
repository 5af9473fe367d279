package push

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/logthrottle"
)

// outage logs when partitions begin to wait for one of the two clusters, once a minute while they
// wait, and when none does any more.
type outage struct {
	log zerolog.Logger

	mu      sync.Mutex
	waiting map[int32]bool // partitions
	tracker logthrottle.Tracker
}

func (o *outage) observe(s Status) {
	o.mu.Lock()
	defer o.mu.Unlock()
	waits := s.Problem != "" && !s.Stopped
	if delete(o.waiting, s.Partition); waits {
		o.waiting[s.Partition] = true
	}
	now := time.Now()
	if len(o.waiting) == 0 {
		if e := o.tracker.Success(now); e.Kind == logthrottle.End {
			o.log.Warn().Dur("for_ms", e.For).Msg("push_recovered")
		}
		return
	}
	if !waits {
		return
	}
	switch e := o.tracker.Failure(now); e.Kind {
	case logthrottle.Begin:
		o.log.Warn().Str("problem", s.Problem).Msg("push_failed")
	case logthrottle.Continue:
		o.log.Warn().Str("problem", s.Problem).Int("waiting", len(o.waiting)).Dur("for_ms", e.For).Msg("push_still_failing")
	default:
	}
}

// forget removes a partition that this process no longer pushes.
func (o *outage) forget(partition int32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, partition)
}
