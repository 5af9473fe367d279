package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/stream"
)

// meter returns p with handlers that observe wraps. observe returns a handler that it does not know
// as it is.
func meter(p stream.Processor, observe func(h stream.Handler, partition int32) stream.Handler) stream.Processor {
	inner := p.New
	p.New = func(t stream.Task) (stream.Handler, error) {
		h, err := inner(t)
		if err != nil {
			return nil, err
		}
		return observe(h, t.Partition), nil
	}
	return p
}

// core is a core of the lease loop, with every optional interface of the runtime that it has.
type core interface {
	stream.Handler
	stream.TimerHandler
	stream.PendingSizer
}

// metered is a core of the lease loop that publishes its figures at each Flush.
type metered struct {
	core
	publish   func() // adds to the counters and sets the gauges
	timerRun  prometheus.Observer
	gauges    gauges
	published bool
}

// OnTimer implements stream.TimerHandler.
func (m *metered) OnTimer(nowMs int64, due []stream.Timer) error {
	start := time.Now()
	err := m.core.OnTimer(nowMs, due)
	m.timerRun.Observe(time.Since(start).Seconds())
	return err
}

// Flush implements stream.Handler. It publishes first: Flush of the core ends the transaction, and
// with it the durations that Stats returns.
func (m *metered) Flush(c stream.Commit, ch *stream.Changes) error {
	m.published = true
	m.publish()
	return m.core.Flush(c, ch)
}

// Close implements stream.Closer. A handler that was made only to inspect state has published
// nothing, and the series belong to another handler.
func (m *metered) Close() {
	if m.published {
		m.gauges.remove()
	}
}

// gauges are the gauges of one partition.
type gauges struct {
	partition string
	families  []*prometheus.GaugeVec
}

func newGauges(partition int32, families ...*prometheus.GaugeVec) gauges {
	return gauges{strconv.Itoa(int(partition)), families}
}

// set sets the series of the partition, with more values of labels where the family has them.
func (g *gauges) set(family *prometheus.GaugeVec, value float64, labels ...string) {
	family.WithLabelValues(append([]string{g.partition}, labels...)...).Set(value)
}

// remove removes all series of the partition.
func (g *gauges) remove() {
	for _, f := range g.families {
		f.DeletePartialMatch(prometheus.Labels{"partition": g.partition})
	}
}

// increase adds to a counter of the process what the total of one handler grew by.
type increase struct {
	counter prometheus.Counter
	last    uint64 // the total that the counter includes, or that the handler restored
}

// to takes the handler's total as it is now.
func (i *increase) to(total uint64) {
	if total > i.last {
		i.counter.Add(float64(total - i.last))
		i.last = total
	}
}

// observeAll adds durations to h.
func observeAll(h prometheus.Observer, list []time.Duration) {
	for _, d := range list {
		h.Observe(d.Seconds())
	}
}

var _ stream.Closer = (*metered)(nil)
