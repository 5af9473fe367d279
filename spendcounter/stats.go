package spendcounter

import (
	"slices"

	"github.com/weirhq/weir/events"
)

// Stats are figures of a Counter. Totals of all time are part of the state: they survive takeovers.
type Stats struct {
	TimestampMs         int64  // greatest ingest time applied
	Duplicates          uint64 // client duplicates, of all time
	TransportDuplicates uint64 // copied records that arrived again, of all time
	Lost                uint64 // origin offsets of records that no copy has, of all time
	RejectedCopies      uint64 // copied records that were rejected, of all time
	Conflicts           uint64 // duplicates with another price than the one charged, of all time
	OverRefunds         uint64 // adjustments that raised the refunds of a campaign day above its charges, of all time
	Late                uint64 // events charged without a check for duplicates, of all time
	MissedRing          uint64 // events too old for the 60 s ring, since New
	PartsOver           uint64 // events whose line item and arm have no row of their own, since New
	EarlyDrops          uint64 // buckets of ids that forgot their ids because of MaxIDs, of all time
	Buckets             int    // buckets of ids, in memory and in the tables
	OldestBucketMs      int64  // event time at which the oldest bucket begins; 0: there is no bucket
	IDs, IDBytes        int    // ids in memory and their bytes
	Entries             int    // campaign days in memory
	EntryBytes          int    // their approximate memory
	Evictions           uint64 // campaign days removed from memory, since New

	Charged []Charge // by events since New, up to the last Flush, by currency in the order of their first Flush; valid until the next one
}

// Stats returns the current figures.
func (c *Counter) Stats() Stats {
	s := Stats{
		TimestampMs: c.timestampMs, Duplicates: c.duplicates, Conflicts: c.conflicts, OverRefunds: c.overRefunds,
		EarlyDrops: c.window.earlyDrops,
		Buckets:    len(c.window.buckets),
		Entries:    len(c.cache.list), EntryBytes: c.cache.bytes(), Evictions: c.cache.evictions,
		Charged: c.charged, PartsOver: c.cache.pairs.over,
	}
	for i := range c.origins {
		o := &c.origins[i]
		s.TransportDuplicates += o.transportDuplicates
		s.Lost += o.lost
		s.RejectedCopies += o.rejected
		s.Late += o.late
		s.MissedRing += o.missedRing
	}
	s.IDs, s.IDBytes = c.window.inMemory()
	if s.Buckets > 0 {
		s.OldestBucketMs = c.window.buckets[0].from
	}
	return s
}

// Charge is what a Counter charged in one currency.
type Charge struct {
	Currency events.Currency
	Micros   int64
}

// charged is a sum for each currency. Prices are not negative, so the sums do not fall.
type charged []Charge

func (c *charged) add(currency events.Currency, micros int64) {
	at := slices.IndexFunc(*c, func(s Charge) bool { return s.Currency == currency })
	if at < 0 {
		at = len(*c)
		*c = append(*c, Charge{Currency: currency})
	}
	(*c)[at].Micros += micros
}
