package sink

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/logthrottle"
)

// failed schedules another call after one that failed. The mutex is held.
func (c *Consumer) failed(p *partition, e *entry, err error) {
	if p.closing { // the next owner of the partition calls Do again
		return
	}
	if p.lastErr = err; e.failures == 0 {
		p.retrying++
	}
	pause := c.pause(e.failures)
	e.failures++
	c.logOutage(p, e, err)
	e.timer = time.AfterFunc(pause, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.parts[p.n] == p && !p.closing {
			p.requeue(e)
			c.dispatch()
		}
	})
}

// logOutage logs failures in few lines: while the other system is down there are hundreds per
// second. The mutex is held.
func (c *Consumer) logOutage(p *partition, e *entry, err error) {
	log := c.cfg.Log
	if raw := interface{ Raw() string }(nil); errors.As(err, &raw) {
		log.Debug().Str("topic", c.cfg.Topic).Int32("partition", p.n).Int64("offset", e.Offset).Int("attempt", e.Attempt).
			Str("raw", raw.Raw()).Msg("sink_attempt_failed")
	}
	switch n := c.outage.Failure(time.Now()); n.Kind {
	case logthrottle.Begin:
		log.Warn().Err(err).Str("topic", c.cfg.Topic).Int32("partition", p.n).Int64("offset", e.Offset).Int("attempt", e.Attempt).
			Int("waiting", c.pendingRecords()).Msg("sink_failed")
	case logthrottle.Continue:
		log.Warn().Err(err).Str("topic", c.cfg.Topic).Dur("for_ms", n.For).Int("failures", n.Failures).Int("waiting", c.pendingRecords()).
			Msg("sink_still_failing")
	default:
	}
}

// recovered logs the end of an outage once no record is being retried and Do has succeeded. It is a
// warning like the begin, so that a log of warnings has both. The mutex is held.
func (c *Consumer) recovered(well bool) {
	for _, p := range c.order {
		if p.retrying > 0 {
			return
		}
	}
	if c.gaveUp = !well; c.gaveUp {
		return
	}
	if n := c.outage.Success(time.Now()); n.Kind == logthrottle.End {
		c.cfg.Log.Warn().Str("topic", c.cfg.Topic).Dur("for_ms", n.For).Int("failures", n.Failures).Int("waiting", c.pendingRecords()).
			Msg("sink_recovered")
	}
}

// pendingRecords returns the number of records that were fetched and are not done. The mutex is
// held.
func (c *Consumer) pendingRecords() (n int) {
	for _, p := range c.order {
		for _, e := range p.entries {
			if !e.done {
				n++
			}
		}
	}
	return n
}

// pause returns the wait before the next call after a number of failures: see Sink.RetryMin.
func (c *Consumer) pause(failures int) time.Duration {
	d := c.cfg.RetryMin
	for range failures {
		if d >= c.cfg.RetryMax {
			break
		}
		d *= 2
	}
	d = min(d, c.cfg.RetryMax)
	return d - rand.N(d/2+1)
}
