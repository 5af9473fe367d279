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
//	choice, err := cache.Account(spendcache.AccountQuery{Account: "acme", From: day}, func(r spendcache.Row) error {
//		spent += r.ChargedMicros() - r.RefundedMicros()
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
//     allow, whatever the clocks of other machines are, and also if the cache has just started or
//     was cut off from the brokers. Age has the rule.
//   - CACHE-4: Choices are made from the health rows alone, once a second and for each shard. Two
//     caches that read the same rows choose by the same rules.
//   - CACHE-5: While no broker answers, the cache answers from the rows that it has, and its
//     answers get older: first degraded, then fail_safe.
//
// # Age
//
// The age of a dataset is the time since its newest health row was written. The clock of the
// writer may be wrong, so it decides only within the bounds of what the cache knows. A health row
// that is new to the cache was written before now, and after the last time at which the cache had
// read the topic to its end. From then on the age grows by the clock of the cache. The first health
// row after a start has no such lower bound, so that the clock of its writer decides: if that is an
// hour behind, the dataset is used from the next health row on, a second later.
//
// # What it does not do
//
// It is never authoritative: it keeps nothing that the topics do not have. It has no budgets. It
// does not read the datasets of datacentres that do not push into this one: each pushes into the
// next two of the ring.
package spendcache
