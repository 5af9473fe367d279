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
// Two things go wrong with a dataset. It lags: the newest event that it has counted is older than
// that of another dataset. Or it lacks events: it has counted fewer of the last 60 s.
//
//   - The lag is measured for each origin, the datacentre in which events arrived: the greatest
//     difference to the newest dataset in the ingest time of that origin's newest event. A dataset
//     that hears of one origin no more lags, however new the events of the others are. Clocks of
//     different datacentres are never compared. The mirror's heartbeats are events here, one a
//     second in each shard: without them each event of a quiet origin would look like a lag.
//   - The deficit is the missing part of the events of the last 60 s by ingest time, against the
//     dataset with the most.
//
// A dataset is fresh if its lag is less than Config.Lag, complete if its deficit is less than
// Config.Deficit, and healthy if both. A Selector prefers the reader's own dataset if it is
// healthy, then the next healthy one in ring order. Without a healthy one it prefers the dataset
// that misses least: the greater of its deficit and of the part of the last 60 s that its lags
// cover, each weighted by the events of its origin. For two datasets these are the rules of the
// seed, Twitter's "Preventing ad overspend" (cross-datacentre writes, with the thresholds ts and
// tc):
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
//  2. For two datasets the result is that of the table, in each cell and on its borders.
//  3. The chosen dataset is a candidate: its health record is not older than Config.Stale. Without
//     a candidate no dataset is chosen, and the mode reports it.
//  4. A dataset that stays healthy is left only for the reader's own.
//
// # What it does not do
//
// The package reads no clock and no topic: ages are given, by the reader's own clock. It compares
// no spend, and it cannot notice a counter that counts too much.
package selection
