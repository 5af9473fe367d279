package bridge

import (
	"context"
	"time"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/internal/pause"
)

const (
	statusInterval = time.Second
	lagWarning     = 12 * time.Hour // half of what DynamoDB keeps
)

// reportStatus publishes the state of the region once a second until ctx ends: in the registry, in
// metrics and in the log.
func (b *Bridge) reportStatus(ctx context.Context) {
	for {
		now := time.Now()
		s, m := b.health.status(b.region, now.UnixMilli()), b.cfg.Metrics
		b.cfg.Registry.set(b, s)
		m.lag.WithLabelValues(b.region).Set(float64(s.LagMs) / 1000)
		m.shards.WithLabelValues(b.region).Set(float64(s.Shards))
		m.queued.WithLabelValues(b.region).Set(float64(b.queue.Bytes()))
		b.logOutage(s.Problem, now)
		b.logLag(s, now)
		if !pause.For(ctx, statusInterval) {
			return
		}
	}
}

// logLag warns once the lag has been too great for a minute, and every ten minutes after that. A
// bridge that has just started may lag for a moment.
func (b *Bridge) logLag(s Status, now time.Time) {
	if s.LagMs < lagWarning.Milliseconds() {
		b.lastWarned = now
		return
	}
	if now.Sub(b.lastWarned) >= time.Minute {
		b.lastWarned = now.Add(9 * time.Minute)
		b.log.Warn().Dur("lag_ms", time.Duration(s.LagMs)*time.Millisecond).Str("problem", s.Problem).Msg("bridge_lags")
	}
}

// logOutage logs when requests to the region begin to fail, once a minute while they fail, and when
// they succeed again. The end is a warning as well, so that a log of warnings has both.
func (b *Bridge) logOutage(problem string, now time.Time) {
	if problem == "" {
		if n := b.outage.Success(now); n.Kind == logthrottle.End {
			b.log.Warn().Dur("for_ms", n.For).Msg("region_recovered")
		}
		return
	}
	switch n := b.outage.Failure(now); n.Kind {
	case logthrottle.Begin:
		b.log.Warn().Str("problem", problem).Msg("region_failed")
	case logthrottle.Continue:
		b.log.Warn().Str("problem", problem).Dur("for_ms", n.For).Msg("region_still_failing")
	default:
	}
}
