package processors

import (
	"errors"
	"time"

	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/stream"
)

// txnTiming is what is measured of one transaction.
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

// batchTimes is a batch's records by their timestamps, in Unix ms.
type batchTimes struct {
	n              int
	oldest, newest int64
}

// observeBatch takes note of a batch, which is not empty.
func (c *txnTiming) observeBatch(records []stream.Record) {
	s := batchTimes{len(records), records[0].TimeMs, records[0].TimeMs}
	for i := range records {
		s.oldest, s.newest = min(s.oldest, records[i].TimeMs), max(s.newest, records[i].TimeMs)
	}
	c.batches = append(c.batches, s)
}

// ageSamples is how many of a batch's records stand for all of them.
const ageSamples = 8

// eachAge gives the ages of the batch's records at now, in seconds, each with the number of records that it stands for. They are
// taken to be spread evenly between the oldest and the newest.
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

// phase ends a step of the commit.
func (w *worker) phase(name string, began time.Time) {
	now := time.Now()
	w.timing.phases = append(w.timing.phases, phase{name, began, now})
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
	var stopped *changelog.StoppedError
	switch {
	case errors.As(cause, &stopped):
		return abortStopped
	case errors.Is(cause, errPoison):
		return abortPoison
	}
	return abortHandler
}

// abortCause is why a transaction that was to be committed was not.
func (w *worker) abortCause(produce error) string {
	switch {
	case produce != nil:
		return abortProduce
	case w.revoked:
		return abortRevoked
	}
	return abortCoordinator
}

// recordOutcome takes down what became of the transaction: committed, if why is empty.
func (w *worker) recordOutcome(why string) {
	m, app, c, now := w.cfg.Metrics, w.proc.App, &w.timing, time.Now()
	if why != "" {
		m.Commits.WithLabelValues(app, "aborted").Inc()
		m.Aborts.WithLabelValues(app, why).Inc()
		w.trace("aborted", why)
		return
	}
	m.Commits.WithLabelValues(app, "committed").Inc()
	m.Phase.WithLabelValues(app, "poll").Observe(c.poll.Seconds())
	m.Phase.WithLabelValues(app, "fold").Observe(c.fold.Seconds())
	m.TransactionRecords.WithLabelValues(app).Observe(float64(w.count))
	m.TransactionChanges.WithLabelValues(app).Observe(float64(c.keys))
	m.TransactionBytes.WithLabelValues(app).Observe(float64(c.bytes))
	for _, s := range c.batches {
		s.eachAge(now, func(seconds float64, n uint64) { m.Latency.observe(app, seconds, n) })
	}
	w.trace("committed", "")
}

// countChanges adds up what the transaction changes.
func (c *txnTiming) countChanges(parts []*taskCommit) {
	for _, part := range parts {
		c.partitions = append(c.partitions, int64(part.task.p))
		c.keys += len(part.task.changes.List)
		c.bytes += part.task.changes.Bytes()
	}
}
