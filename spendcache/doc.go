// Package spendcache is the read side of spend in one datacentre. It follows the datasets that
// this datacentre has, chooses the healthiest one for each shard of the accounts, and answers from
// it. A dataset is the spend that the counter of one datacentre has counted, of the events of all
// datacentres.
//
//	spend.by.eu ───┐
//	spend.from.us ─┼─▶ Follower ─▶ rows on disk ──────────────────────────┐
//	spend.from.ap ─┘      └─▶ health rows, once a second ─▶ Selector      │
//	                                         of each shard ─▶ Choice ─────┴─▶ Account, Datasets
//
// A program runs a cache and asks it:
//
//	cache, err := spendcache.New(spendcache.Config{
//		Kafka: kafka.Cluster{Brokers: []string{"kafka-eu:9092"}}, Dir: "/var/lib/spend",
//		DC: "eu", Ring: []string{"eu", "us", "ap"}, Writers: []string{"us", "ap"},
//	})
//	// handle err
//	go cache.Run(ctx)
//	choice, err := cache.Account(ctx, spendcache.AccountQuery{Account: "acme", From: day}, func(r spendcache.Row) error {
//		spent += r.Spent()
//		return nil
//	})
//
// `weir run --roles spendcache` runs one, and the API serves it to ad servers, which use package
// spendcache/client.
//
// # Modes
//
// The mode of a Choice is how far its rows may be trusted; package selection has the rules and the
// thresholds.
//
//   - normal: a dataset is chosen, and its health row is recent. All rows are of this dataset.
//   - degraded: no dataset has a recent health row. Each row is the merge of the rows of all
//     datasets, see events.MergeSpend. The answer states its age.
//   - fail_safe: the newest health row is older than 10 minutes, or there is none. Rows are as in
//     degraded. Campaigns with a budget are to stop.
//
// # Invariants
//
//   - CACHE-1: All rows of an answer in normal mode are of one dataset, the chosen one, and of one
//     snapshot of it.
//   - CACHE-2: The rows include every row that the writer had committed before Choice.WrittenMs:
//     health and rows are read from one snapshot, and a health row is behind the rows that it
//     describes (SPEND-32).
//   - CACHE-3: A dataset whose counter has stopped is not chosen for longer than the thresholds
//     allow, also if the cache has just started or was cut off from the brokers, if its copy
//     arrives late, and if the clock of its counter is wrong. Age has the rule and its limits.
//   - CACHE-4: Choices are made from the health rows alone, once a second and for each shard. Two
//     caches that read the same rows choose by the same rules.
//   - CACHE-5: While no broker answers, the cache answers from the rows that it has, and its
//     answers get older: first degraded, then fail_safe.
//   - CACHE-6: While no process paces the accounts of a shard, the packs of another datacentre that
//     does are served, with the overrides of this one, and none that rest on spend that is minutes
//     older. The own ones are served again when their leader has been back for a minute and has
//     fresh spend. An override of the writer decides it until it ends, for shards that a process
//     paces there.
//
// # Pacing
//
// With Config.Pacing the cache also follows how this datacentre paces campaigns, and observes who
// leads each shard. While a shard has no leader, it follows the next datacentres in their Kafka:
//
//	pacing.by.eu ─▶ Follower ─▶ leaders, once a second ─▶ substitutes: whose packs of each shard
//	pacing.by.us ─▶ Follower, while a shard needs it ──▶      └─▶ Packs
//
// # Age
//
// The age of a dataset is the time since its newest health row was written. When the cache sees a
// row for the first time, the age is its delay, from the time that the writer has stamped to now.
// From then on it grows by the clock of the cache. The clock of the writer may be wrong:
//
//   - The least delay of the last 30 to 60 minutes shows it: if that is negative, the clock is
//     ahead, and if it is more than 30 s, behind. It is subtracted.
//   - A row that comes first and seems to be of the future has no known age. Its dataset is used
//     some seconds later, when two health rows have arrived. So is that of a clock that is behind.
//   - What was learned is forgotten when another process owns the shard, or when the clock of this
//     machine is set.
//   - A row of the own counter was written after the last time at which the cache had read the
//     topic to its end without the row. A copied row may have been late.
//   - If the clock of another datacentre is set back by more than 30 s, its dataset is not used
//     until the delays from before are forgotten. A push that is always equally late, by more than
//     30 s, looks like a clock that is behind.
//
// # What it does not do
//
// It is never authoritative: it keeps nothing that the topics do not have. It has no budgets. It
// does not read the datasets of datacentres that do not push into this one: each pushes into the
// next two of the ring.
package spendcache
