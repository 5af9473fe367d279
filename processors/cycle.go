package processors

import (
	"errors"
	"time"

	"github.com/weirhq/weir/stream"
)

// cycle is what is measured of one transaction.
type cycle struct {
	began       time.Time
	poll, fold  time.Duration // spent waiting for records, and folding them
	spans       []span
	phases      []phase
	keys, bytes int // of the changes
	partitions  []int64
}

// phase is a step of the commit.
type phase struct {
	name         string
	began, ended time.Time
}

func (c *cycle) reset(now time.Time) {
	*c = cycle{began: now, spans: c.spans[:0], phases: c.phases[:0], partitions: c.partitions[:0]}
}

// took adds the time since began; it is deferred.
func took(sum *time.Duration, began time.Time) { *sum += time.Since(began) }

// span is a batch's records by their timestamps, in Unix ms.
type span struct {
	n              int
	oldest, newest int64
}

// saw takes note of a batch, which is not empty.
func (c *cycle) saw(records []stream.Record) {
	s := span{len(records), records[0].TimeMs, records[0].TimeMs}
	for i := range records {
		s.oldest, s.newest = min(s.oldest, records[i].TimeMs), max(s.newest, records[i].TimeMs)
	}
	c.spans = append(c.spans, s)
}

// samples is how many of a batch's records stand for all of them.
const samples = 8

// each gives the ages of the batch's records at now, in seconds, each with the number of records that it stands for. They are
// taken to be spread evenly between the oldest and the newest.
func (s span) each(now time.Time, fn func(seconds float64, n uint64)) {
	k := min(s.n, samples)
	for i := range k {
		at := s.newest
		if k > 1 {
			at = s.oldest + (s.newest-s.oldest)*int64(i)/int64(k-1)
		}
		fn(float64(max(0, now.UnixMilli()-at))/1000, uint64(s.n*(i+1)/k-s.n*i/k))
	}
}

// phase ends a step of the commit.
func (w *worker) phase(name string, began time.Time) {
	now := time.Now()
	w.cycle.phases = append(w.cycle.phases, phase{name, began, now})
	w.cfg.Metrics.Phase.WithLabelValues(w.proc.App, name).Observe(now.Sub(began).Seconds())
}

// Why a transaction was aborted; the closed set of a metric's reasons.
const (
	abortStopped     = "stopped"     // a partition cannot go on
	abortPoison      = "poison"      // a record panicked: it is folded anew without it
	abortHandler     = "handler"     // the handler failed
	abortProduce     = "produce"     // a record was not taken by its broker
	abortRevoked     = "revoked"     // partitions were given to others meanwhile
	abortCoordinator = "coordinator" // the coordinator said no: mostly a rebalance that began inside the commit
)

func abortReason(cause error) string {
	var stopped *StoppedError
	switch {
	case errors.As(cause, &stopped):
		return abortStopped
	case errors.Is(cause, errPoison):
		return abortPoison
	}
	return abortHandler
}

// whyNot is why a transaction that was to be committed was not.
func (w *worker) whyNot(produce error) string {
	switch {
	case produce != nil:
		return abortProduce
	case w.revoked:
		return abortRevoked
	}
	return abortCoordinator
}

// ended takes down what became of the transaction: committed, if why is empty.
func (w *worker) ended(why string) {
	m, app, c, now := w.cfg.Metrics, w.proc.App, &w.cycle, time.Now()
	if why != "" {
		m.Commits.WithLabelValues(app, "aborted").Inc()
		m.Aborts.WithLabelValues(app, why).Inc()
		w.trace("aborted", why)
		return
	}
	m.Commits.WithLabelValues(app, "committed").Inc()
	m.Phase.WithLabelValues(app, "poll").Observe(c.poll.Seconds())
	m.Phase.WithLabelValues(app, "fold").Observe(c.fold.Seconds())
	m.Size.WithLabelValues(app).Observe(float64(w.count))
	m.DirtyKeys.WithLabelValues(app).Observe(float64(c.keys))
	m.DirtyBytes.WithLabelValues(app).Observe(float64(c.bytes))
	for _, s := range c.spans {
		s.each(now, func(seconds float64, n uint64) { m.Latency.observe(app, seconds, n) })
	}
	w.trace("committed", "")
}

// dirtied adds up what the transaction changes.
func (c *cycle) dirtied(parts []*pending) {
	for _, part := range parts {
		c.partitions = append(c.partitions, int64(part.t.p))
		c.keys += len(part.t.changes.List)
		c.bytes += part.t.changes.Bytes()
	}
}
