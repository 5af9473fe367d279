package spendsim

import (
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/spendcache/selection"
)

// checkHealth is the checker HEALTH.
func (w *simulation) checkHealth(r *reader, d *copied) {
	var states, sum int64
	newer := false
	for _, o := range d.health.Origins {
		states += o.CumulativeMicros
	}
	for _, x := range d.spends {
		if x.spend.Incarnation < d.health.Incarnation {
			w.fail("HEALTH", "the reader of %s has a row of %s of a state that was deleted", names[r.dc], names[d.dc])
		}
		sum += x.spent.charged
		newer = newer || events.CompareVersions(x.spend, d.health) > 0
	}
	if sum < states || sum > states && !newer {
		w.fail("HEALTH", "the reader of %s has rows of %s with %d micros, the health row states %d", names[r.dc], names[d.dc], sum, states)
	}
}

// stoppedMs is how long the dataset of a counter that writes nothing may be chosen.
const stoppedMs = 40_000

// checkAnswer is the checkers CHARGED and STOPPED.
func (w *simulation) checkAnswer(r *reader, d *selection.Decision) {
	for p := range policies {
		got, truth := r.answer.spent[p], w.ledger(p.String())
		if got.charged > truth.charged+truth.surplus || got.refunded > truth.refunded {
			w.fail("CHARGED", "the reader of %s answers %+v micros for %v, the truth is %+v", names[r.dc], got, p, *truth)
		}
	}
	if d.Mode == selection.Normal && w.now-w.dcs[r.answer.dc].counter.wroteAt > stoppedMs {
		w.fail("STOPPED", "the reader of %s uses the dataset of %s, which was written at %d ms", names[r.dc], d.DC,
			w.dcs[r.answer.dc].counter.wroteAt)
	}
	if d.Switched() && d.From != "" {
		w.marks["switched"]++
	}
	if w.now > beginMs && d.Mode == selection.Normal {
		w.oldest = max(w.oldest, min(r.answer.age, stale)-fresh)
	}
	if w.now > beginMs { // before, there may be no health rows
		w.marks[d.Mode.String()]++
	}
}

const (
	// overspentSeconds is how many seconds of traffic a policy may overspend in a run: 0.10 % of a
	// day.
	overspentSeconds = 86.4
	// chosenSeconds is how many seconds more than the merge of all datasets a policy may overspend
	// that uses one dataset of them, until it uses a better one. If no better one is fresher, it is
	// used until it is 30 s old: then it may overspend that much longer.
	chosenSeconds = 15
)

// fresh is the age of a dataset that is written all the time, at most.
const fresh = 5 * time.Second

// checkOverspend is the checker OVERSPENT. What the merge overspends is unavoidable: no dataset of
// any reader had the clicks in time. If a counter charges too much, the merge shows nothing.
func (w *simulation) checkOverspend() {
	most := w.seconds(w.over[merged]) + chosenSeconds + w.oldest.Seconds()
	if w.faults.seen[OverCount] {
		most = max(most, overspentSeconds)
	}
	for _, p := range []policy{selected, guarded} {
		if over := w.seconds(w.over[p]); over > most {
			w.fail("OVERSPENT", "the policy %v overspends by %.1f s of traffic, at most %.1f s are allowed", p, over, most)
		}
	}
}
