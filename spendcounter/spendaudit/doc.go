// Package spendaudit compares what the spend counters of several datacentres have folded: minute by
// minute of each origin, from the records of their topics spend.audit (eventspb.SpendAudit).
//
//	spend.audit of eu ─┐
//	spend.audit of us ─┼─ Audit.Add ─▶ Audit.Report ─▶ Coverage: how much was compared
//	spend.audit of ap ─┘                            └▶ Differences: shard, origin, minutes, figures
//
// Counters that have read the same records of an origin emit the same figures for each of its
// minutes (SPEND-33). So a difference is a record that one of them lacks, or has in addition, or
// has with another price. Which minute a record belongs to depends on the records before it: if the
// record that begins a minute is missing, the next one begins it. Therefore minutes that follow
// each other and differ are one Difference, with the sums of their figures, and none if the sums
// are equal.
//
// # What is compared
//
// A minute is compared among the counters that have it, or have one before and one after it. The
// first two minutes of an origin in a state are left out: the state may have begun within them. The
// minutes of a newer state replace those of an older one from its first minute on: it has read the
// log again. Coverage has the shards of which a counter has nothing, and how far it is behind.
//
// # What it does not do
//
// It reads no topics. It does not know which side is right: Difference.Sides has the figures of
// all, and those of the origin's own counter come first. It does not compare adjustments, nor the
// minute that is still open.
package spendaudit
