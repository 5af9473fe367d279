package mirror

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/processors/logreader"
)

// peer is a Peer, and what the tasks of this process share.
type peer struct {
	Peer

	reader *logreader.Reader
	limit  *limit
	log    zerolog.Logger

	mu     sync.Mutex
	away   map[*copier]bool // that wait for the peer
	outage logthrottle.Tracker
}

// observe takes whether a copier waits for the peer, and logs when an outage begins, once a minute
// while it lasts, and when it ends.
func (p *peer) observe(c *copier, s Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if delete(p.away, c); s.Problem != "" && !s.Stopped {
		p.away[c] = true
	}
	now := time.Now()
	if len(p.away) == 0 {
		if e := p.outage.Success(now); e.Kind == logthrottle.End {
			p.log.Warn().Dur("for_ms", e.For).Msg("mirror_peer_recovered")
		}
		return
	}
	if !p.away[c] {
		return
	}
	switch e := p.outage.Failure(now); e.Kind {
	case logthrottle.Begin:
		p.log.Warn().Str("problem", s.Problem).Msg("mirror_peer_failed")
	case logthrottle.Continue:
		p.log.Warn().Str("problem", s.Problem).Int("waiting", len(p.away)).Dur("for_ms", e.For).Msg("mirror_peer_still_failing")
	default:
	}
}

// forget removes a copier that has ended.
func (p *peer) forget(c *copier) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.away, c)
}
