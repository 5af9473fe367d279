package effects

import (
	"math/rand/v2"
	"time"
)

// logEvery is how often failures are logged: a region that is down fails hundreds of times a second.
const logEvery = 10 * time.Second

// failed is told that a call failed: it is made again after a pause, for ever. The mutex is held.
func (c *Consumer) failed(p *partition, e *entry, err error) {
	if p.left { // whoever has the partition next does it
		return
	}
	if p.why = err; e.Attempt == 0 {
		p.retrying++
	}
	pause := c.pause(e.Attempt)
	e.Attempt++
	if now := time.Now(); now.Sub(c.logged) >= logEvery {
		c.logged = now
		c.cfg.Log.Warn().Err(err).Str("topic", c.cfg.Topic).Int32("partition", p.n).Int64("offset", e.Offset).Int("attempt", e.Attempt).
			Int("retrying", p.retrying).Int("pending", len(p.entries)).Msg("effect_failed")
	}
	e.timer = time.AfterFunc(pause, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.parts[p.n] == p && !p.left {
			p.again(e)
			c.dispatch()
		}
	})
}

// pause is how long to wait after so many failures before: twice as long each time, less up to a half by chance.
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
