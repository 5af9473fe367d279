package dedup

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/stream"
)

// OnTimer evaluates the keys whose timers are due: it forgets rows that are over and decides
// duplicates.
func (d *Dedup) OnTimer(nowMs int64, due []stream.Timer) error {
	keys := make([]string, len(due))
	for i := range due {
		keys[i] = string(due[i].Key)
	}
	if err := d.keys.Prefetch(keys); err != nil {
		return d.fail(err)
	}
	for i := range due {
		name := string(due[i].Key)
		k, ok, err := d.keys.Get(name)
		if err != nil {
			return d.fail(err)
		}
		if !ok || k.Timer != due[i].AtMs {
			continue // a timer of an earlier row
		}
		k.Timer = 0
		k.Rows = slices.DeleteFunc(slices.Clone(k.Rows), func(r Row) bool { return d.dropAfter(&r) <= nowMs })
		next, err := d.evaluate(name, &k, nowMs)
		if err != nil {
			return d.fail(err)
		}
		if next == math.MaxInt64 {
			d.stats.Keys--
			d.keys.Delete(name)
			continue
		}
		d.setTimer(name, &k, next)
		d.keys.Put(name, k)
	}
	return nil
}

// evaluate decides the duplicate of a key. It returns the time of the next evaluation;
// math.MaxInt64 if the key can be forgotten.
func (d *Dedup) evaluate(name string, k *Key, nowMs int64) (next int64, err error) {
	next = math.MaxInt64
	at := func(ms int64) { next = min(next, max(ms, nowMs+1)) }
	for i := range k.Rows {
		at(d.dropAfter(&k.Rows[i]))
	}
	v := decide(k.Rows, nowMs, d.cfg.Skew.Milliseconds())
	if len(v.losers) > 0 || len(v.live) > 1 || k.Duplicate.open() {
		names := strings.SplitN(name, "\x00", 3)
		p, known, err := d.pools.Get(names[0] + "\x00" + names[1])
		if err != nil {
			return 0, err
		}
		if !known {
			d.stats.SettingsWaits++
			at(nowMs + settingsRetry.Milliseconds())
			return next, nil
		}
		x := decisionContext{client: names[0], pool: names[1], key: names[2], settings: &p, nowMs: nowMs}
		if p.mode != modeObserve && !d.winnerEndsSoon(k, &v, nowMs) {
			if err := d.supersede(&x, k, &v); err != nil {
				return 0, err
			}
			for _, i := range v.losers {
				at(k.Rows[i].NextCommandMs)
			}
		}
		if err := d.report(&x, k, &v); err != nil {
			return 0, err
		}
		for _, i := range slices.Concat(v.live, v.losers) { // when one of them ends, the decision is another
			at(k.Rows[i].Expires - d.cfg.Skew.Milliseconds())
		}
	}
	switch {
	case k.Duplicate.open():
		at(nowMs + d.cfg.MaxRetry.Milliseconds())
	case k.Duplicate.State == DuplicateResolved && nowMs >= k.Duplicate.Resolved+d.cfg.Retention.Milliseconds():
		k.Duplicate = Duplicate{}
		d.out = append(d.out, output{events.LeaseDuplicatesTopic, name, nil})
	case k.Duplicate.State == DuplicateResolved:
		at(k.Duplicate.Resolved + d.cfg.Retention.Milliseconds())
	}
	return next, nil
}

// winnerGrace is how long dedup waits for the end or the renewal of the winner's lease.
const winnerGrace = 2 * time.Second

// winnerEndsSoon reports whether the winner's lease is about to end. If it is not renewed, the
// others would lose to no lease, and longer leases would get another resource. Dedup waits once: a
// key with short leases only is decided, too.
func (d *Dedup) winnerEndsSoon(k *Key, v *decision, nowMs int64) bool {
	since := nowMs
	switch {
	case k.Duplicate.open():
		since = k.Duplicate.Since
	case len(v.live) < 2: // a superseded row that names another winner
		return false
	}
	return v.winner >= 0 && k.Rows[v.winner].Expires <= nowMs+(d.cfg.Skew+winnerGrace).Milliseconds() &&
		nowMs < since+winnerGrace.Milliseconds()
}

// decisionContext identifies a key and holds the settings and the time of a decision.
type decisionContext struct {
	client, pool, key string
	settings          *pool
	nowMs             int64
}
