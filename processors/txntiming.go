package processors

import (
	"errors"
	"time"

	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/stream"
)

// txnTiming has the measurements of one transaction.
type txnTiming struct {
	began       time.Time
	poll, fold  time.Duration // spent waiting for records, and folding them
	batches     []batchTimes
	phases      []phase
	keys, bytes int // of the changes
	partitions  []int64
}

// phase is a step of the commit.
type phase struct {
	name         string
	began, ended time.Time
}

func (c *txnTiming) reset(now time.Time) {
	*c = txnTiming{began: now, batches: c.batches[:0], phases: c.phases[:0], partitions: c.partitions[:0]}
}

// addElapsed adds the time since began; it is deferred.
func addElapsed(sum *time.Duration, began time.Time) { *sum += time.Since(began) }

// batchTimes summarizes the timestamps of a batch, in Unix ms.
type batchTimes struct {
	n              int
	oldest, newest int64
}

// observeBatch adds a batch, which is not empty.
func (c *txnTiming) observeBatch(records []stream.Record) {
	s := batchTimes{len(records), records[0].TimeMs, records[0].TimeMs}
	for i := range records {
		s.oldest, s.newest = min(s.oldest, records[i].TimeMs), max(s.newest, records[i].TimeMs)
	}
	c.batches = append(c.batches, s)
}

// ageSamples is the number of ages that represent a batch.
const ageSamples = 8

// eachAge calls fn with ages of the batch at now, in seconds, and with the number of records that
// each of them represents. The records are taken as spread evenly between the oldest and the
// newest.
func (s batchTimes) eachAge(now time.Time, fn func(seconds float64, n uint64)) {
	k := min(s.n, ageSamples)
	for i := range k {
		at := s.newest
		if k > 1 {
			at = s.oldest + (s.newest-s.oldest)*int64(i)/int64(k-1)
		}
		fn(float64(max(0, now.UnixMilli()-at))/1000, uint64(s.n*(i+1)/k-s.n*i/k))
	}
}

// phase records a step of the commit that ends now.
func (w *worker) phase(name string, began time.Time) {
	now := time.Now()
	w.timing.phases = append(w.timing.phases, phase{name, began, now})
	w.cfg.Metrics.PhaseSeconds.WithLabelValues(w.proc.App, name).Observe(now.Sub(began).Seconds())
}

// The reasons of aborted transactions, a closed set of label values.
const (
	abortStopped     = "stopped"     // a partition is stopped
	abortPoison      = "poison"      // a record panicked: the others are folded again without it
	abortHandler     = "handler"     // the handler failed
	abortProduce     = "produce"     // a broker did not accept a record
	abortRevoked     = "revoked"     // partitions were revoked during the transaction
	abortCoordinator = "coordinator" // the coordinator refused the commit, mostly because of a rebalance
)

func abortReason(cause error) string {
	var stopped *changelog.StoppedError
	switch {
	case errors.As(cause, &stopped):
		return abortStopped
	case errors.Is(cause, errPoison):
		return abortPoison
	}
	return abortHandler
}

// abortCause returns the reason why a commit ended as an abort, and the error.
func (w *worker) abortCause(produce error) (reason string, cause error) {
	switch {
	case produce != nil:
		return abortProduce, produce
	case w.revoked:
		return abortRevoked, errRevoked
	}
	return abortCoordinator, w.sessionLog.cause()
}

// recordOutcome updates metrics and traces for the transaction that ended: committed if why is
// empty, else aborted for that reason.
func (w *worker) recordOutcome(why string) {
	m, app, c, now := w.cfg.Metrics, w.proc.App, &w.timing, time.Now()
	if why != "" {
		m.Commits.WithLabelValues(app, "aborted").Inc()
		m.Aborts.WithLabelValues(app, why).Inc()
		w.trace("aborted", why)
		return
	}
	m.Commits.WithLabelValues(app, "committed").Inc()
	m.PhaseSeconds.WithLabelValues(app, "poll").Observe(c.poll.Seconds())
	m.PhaseSeconds.WithLabelValues(app, "fold").Observe(c.fold.Seconds())
	m.TransactionRecords.WithLabelValues(app).Observe(float64(w.count))
	m.TransactionChanges.WithLabelValues(app).Observe(float64(c.keys))
	m.TransactionBytes.WithLabelValues(app).Observe(float64(c.bytes))
	for _, s := range c.batches {
		s.eachAge(now, func(seconds float64, n uint64) { m.Latency.observe(app, seconds, n) })
	}
	w.trace("committed", "")
}

// countChanges counts the changes of the transaction.
func (c *txnTiming) countChanges(parts []*taskCommit) {
	for _, part := range parts {
		c.partitions = append(c.partitions, int64(part.task.p))
		c.keys += len(part.task.changes.List)
		c.bytes += part.task.changes.Bytes()
	}
}
