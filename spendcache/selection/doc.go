// Package selection chooses, for a shard, which datacentre's dataset a reader uses.
//
// A dataset is the spend that one datacentre's counter has counted, of the events of all
// datacentres. Each counter writes its dataset to its own datacentre and to the next ones of the
// ring. Once a second it writes a health record (eventspb.SpendHistogram) beside it. A reader has
// several datasets of the same spend, and the health of each:
//
//	health record of eu ─┐
//	health record of us ─┼─▶ Selector.Decide ─▶ Assessment of each dataset: candidate, lag, deficit
//	health record of ap ─┘   once a second     └▶ hysteresis ─▶ Decision: dataset, mode, reason
//
// A dataset can have three defects. It can lag: its newest counted event is older than the newest
// of another dataset. It can lack events: of the last 60 s it has counted fewer than another
// dataset. Or it can have lost records for ever: copies of events that will not arrive any more.
//
//   - The lag is measured for each origin, the datacentre in which events arrived. For one origin,
//     it is the difference between the ingest times of the newest event in this dataset and in the
//     newest dataset; the greatest difference counts. So a dataset that no longer gets the events
//     of one origin lags, however new the events of the others are. Clocks of different datacentres
//     are never compared. The mirror's heartbeats count as events, one per second and shard:
//     without them each event of a quiet origin would look like a lag.
//   - The deficit is the missing part of the events of the last 60 s by ingest time, against the
//     dataset with the most of those that have more events of all time. A dataset with as many
//     events of all time lacks nothing: when traffic falls, a dataset that is some seconds behind
//     has more events in its last 60 s than the newest one.
//   - The counter counts the records of which no copy has arrived. What a dataset has lost is
//     missing from the spend of its campaign days until they end, however healthy its last 60 s
//     are. So a healthy dataset that has lost fewer records is preferred, if it has as many events
//     of all time: a dataset whose state began later, such as that of a new datacentre, has lost
//     nothing and lacks everything before.
//
// A dataset is fresh if its lag is less than Config.Lag, complete if its deficit is less than
// Config.Deficit, lossless if no such dataset has lost fewer records, and healthy if all three.
//
// A Selector prefers the reader's own dataset if it is healthy, then the next healthy one in ring
// order. If no dataset is healthy, it prefers the dataset that misses least. What a dataset misses
// is the greater of two parts of the last 60 s: its deficit, and the time that its lags cover, each
// lag weighted by the events of its origin. For two datasets that have lost nothing, these are the
// rules of the seed, Twitter's "Preventing ad overspend" (cross-datacentre writes, with the
// thresholds ts and tc):
//
//	              │ remote has more │ equal  │ local has more
//	──────────────┼─────────────────┼────────┼───────────────
//	local newer   │ misses least    │ LOCAL  │ LOCAL
//	equal         │ REMOTE          │ LOCAL  │ LOCAL
//	remote newer  │ REMOTE          │ REMOTE │ misses least
//
// # Invariants
//
//  1. The result does not depend on the order in which datasets are given.
//  2. For two datasets without lost records, the result is that of the table, in each cell and on
//     its borders.
//  3. The chosen dataset is a candidate: its health record is not older than Config.Stale. Without
//     a candidate no dataset is chosen, and the mode reports it.
//  4. A healthy dataset is left only for the reader's own.
//
// # What it does not do
//
// The package reads no clock and no topic: the caller passes ages by the reader's own clock. It
// does not compare spend, so it cannot notice a counter that counts too much.
package selection
