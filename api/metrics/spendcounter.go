package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

// Spend is the metrics of the spend counter.
type Spend struct {
	ids, idBytes, buckets, entries, cacheBytes *prometheus.GaugeVec

	duplicates, copies, lost prometheus.Counter
	rejected                 prometheus.Counter
	late, conflicts          prometheus.Counter
	overRefunds, partsOver   prometheus.Counter
	earlyDrops, evictions    prometheus.Counter
	charged                  *prometheus.CounterVec
}

// restored is the end of the help of a counter whose total is part of the state.
const restored = ". Counts this process only: the total of all time is part of the state, and a takeover does not add it."

// NewSpend makes the metrics and registers them with r.
func NewSpend(r prometheus.Registerer) *Spend {
	f := families{"spendcounter", r}
	return &Spend{
		ids:     f.gauge("remembered_ids", "Event ids in memory, by partition."),
		idBytes: f.gauge("remembered_ids_bytes", "Memory of the event ids, by partition."),
		buckets: f.gauge("id_buckets",
			"Buckets of event ids, in memory and in the store, by partition. About seven are normal; they grow in number while a datacentre sends nothing."),
		entries:    f.gauge("cache_entries", "Campaign days in memory, by partition."),
		cacheBytes: f.gauge("cache_bytes", "Approximate memory of the campaign days in memory, by partition."),
		duplicates: f.counter("duplicates_total", "Events that were not charged because their id was in the duplicate window"+restored),
		copies:     f.counter("transport_duplicates_total", "Copied records that arrived more than once from another datacentre"+restored),
		lost:       f.counter("lost_records_total", "Offsets of another datacentre's records of which no copy arrived"+restored),
		rejected:   f.counter("rejected_copies_total", "Copied records of another datacentre that were rejected"+restored),
		late:       f.counter("late_total", "Events that arrived too late to be checked for duplicates, and were charged"+restored),
		conflicts: f.counter("conflicts_total",
			"Duplicates with another price than the event that was charged, or another amount or campaign day than the adjustment that was applied"+restored),
		overRefunds: f.counter("over_refunds_total",
			"Adjustments that raised the refunds of their campaign day above its charges when they were applied"+restored),
		earlyDrops: f.counter("early_drops_total",
			"Times that a bucket of event ids was forgotten early because it held too many ids"+restored),
		partsOver: f.counter("parts_over_total",
			"Events whose line item and arm have no row of their own, because their campaign day has more than spend.parts."),
		evictions: f.counter("cache_evictions_total", "Campaign days removed from memory to make room for others."),
		charged: f.counterVec("charged_micros_total", "Money that events were charged, in millionths of the currency's unit, by currency. "+
			"Adjustments are not in it. A transaction that is aborted and repeated counts again: for accounting use the API.", "currency"),
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
	g := newGauges(partition, m.ids, m.idBytes, m.buckets, m.entries, m.cacheBytes)
	s := c.Stats()
	duplicates, copies := increase{m.duplicates, s.Duplicates}, increase{m.copies, s.TransportDuplicates}
	lost, earlyDrops := increase{m.lost, s.Lost}, increase{m.earlyDrops, s.EarlyDrops}
	rejected := increase{m.rejected, s.RejectedCopies}
	late, conflicts := increase{m.late, s.Late}, increase{m.conflicts, s.Conflicts}
	evictions, overRefunds := increase{m.evictions, s.Evictions}, increase{m.overRefunds, s.OverRefunds}
	partsOver := increase{m.partsOver, s.PartsOver}
	var charged []increase // in the order of Stats.Charged, which grows at its end
	return &meteredCounter{Counter: c, gauges: g, publish: func() {
		s := c.Stats()
		g.set(m.ids, float64(s.IDs))
		g.set(m.idBytes, float64(s.IDBytes))
		g.set(m.buckets, float64(s.Buckets))
		g.set(m.entries, float64(s.Entries))
		g.set(m.cacheBytes, float64(s.EntryBytes))
		duplicates.to(s.Duplicates)
		copies.to(s.TransportDuplicates)
		lost.to(s.Lost)
		rejected.to(s.RejectedCopies)
		late.to(s.Late)
		conflicts.to(s.Conflicts)
		overRefunds.to(s.OverRefunds)
		earlyDrops.to(s.EarlyDrops)
		partsOver.to(s.PartsOver)
		evictions.to(s.Evictions)
		for i, sum := range s.Charged {
			if i == len(charged) {
				charged = append(charged, increase{counter: m.charged.WithLabelValues(sum.Currency.String())})
			}
			charged[i].to(uint64(sum.Micros))
		}
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
