package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// Spend is the metrics of the spend counter.
type Spend struct {
	ids, idBytes, entries, cacheBytes *prometheus.GaugeVec

	duplicates, copies, lost  prometheus.Counter
	earlyRotations, evictions prometheus.Counter
}

// restored is the end of the help of a counter whose total is part of the state.
const restored = ". Counts this process only: the total of all time is part of the state, and a takeover does not add it."

// NewSpend makes the metrics and registers them with r.
func NewSpend(r prometheus.Registerer) *Spend {
	f := families{"spendcounter", r}
	return &Spend{
		ids:            f.gauge("remembered_ids", "Event ids in the duplicate window, by partition."),
		idBytes:        f.gauge("remembered_ids_bytes", "Memory of the event ids in the duplicate window, by partition."),
		entries:        f.gauge("cache_entries", "Campaign days in memory, by partition."),
		cacheBytes:     f.gauge("cache_bytes", "Approximate memory of the campaign days in memory, by partition."),
		duplicates:     f.counter("duplicates_total", "Events that were not charged because their id was in the duplicate window"+restored),
		copies:         f.counter("transport_duplicates_total", "Copied records that arrived more than once from another datacentre"+restored),
		lost:           f.counter("lost_records_total", "Offsets of another datacentre's topic that its copies skipped"+restored),
		earlyRotations: f.counter("early_rotations_total", "Times that the duplicate window was cut short because it held too many ids"+restored),
		evictions:      f.counter("cache_evictions_total", "Campaign days removed from memory to make room for others."),
	}
}

// Meter returns p, the processor of the spend counter, with handlers that publish their figures.
func (m *Spend) Meter(p stream.Processor) stream.Processor {
	return meter(p, func(h stream.Handler, partition int32) stream.Handler {
		c, ok := h.(*spendcounter.Counter)
		if !ok {
			return h
		}
		return m.observe(c, partition)
	})
}

// meteredCounter is a Counter that publishes its figures at each Flush. It embeds the Counter, so
// that the runtime finds its optional interfaces.
type meteredCounter struct {
	*spendcounter.Counter
	gauges    gauges
	publish   func()
	published bool
}

// observe wraps c. The totals of c so far are state that it restored: they are in the counters of
// the processes that counted them.
func (m *Spend) observe(c *spendcounter.Counter, partition int32) stream.Handler {
	g := newGauges(partition, m.ids, m.idBytes, m.entries, m.cacheBytes)
	s := c.Stats()
	duplicates, copies := increase{m.duplicates, s.Duplicates}, increase{m.copies, s.TransportDuplicates}
	lost, earlyRotations := increase{m.lost, s.Lost}, increase{m.earlyRotations, s.EarlyRotations}
	evictions := increase{m.evictions, s.Evictions}
	return &meteredCounter{Counter: c, gauges: g, publish: func() {
		s := c.Stats()
		g.set(m.ids, float64(s.IDs))
		g.set(m.idBytes, float64(s.IDBytes))
		g.set(m.entries, float64(s.Entries))
		g.set(m.cacheBytes, float64(s.EntryBytes))
		duplicates.to(s.Duplicates)
		copies.to(s.TransportDuplicates)
		lost.to(s.Lost)
		earlyRotations.to(s.EarlyRotations)
		evictions.to(s.Evictions)
	}}
}

// Flush implements stream.Handler.
func (m *meteredCounter) Flush(c stream.Commit, ch *stream.Changes) error {
	err := m.Counter.Flush(c, ch)
	m.published = true
	m.publish()
	return err
}

// Close implements stream.Closer. A handler that was made only to inspect state has published
// nothing, and the series belong to another handler.
func (m *meteredCounter) Close() {
	if m.published {
		m.gauges.remove()
	}
}

var _ stream.Closer = (*meteredCounter)(nil)
