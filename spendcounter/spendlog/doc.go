// Package spendlog reads the topic of a spend counter, spend.by.<dc>, for programs that are not a
// part of weir: the totals of each campaign day, hour, and line item and arm, and behind them the
// health of each shard, once a second. docs/spend-topics.md describes the same for other languages.
//
//	record of spend.by.<dc> ── Decode ─▶ Row, or skip
//	                       └── Table ──▶ the newest row of each key
//
// The topic is the changelog of the counter, so it has other records as well. Decode skips them. A
// Table keeps the newest row of each key, in whatever order and however often records arrive. When
// it sees the first row of a new state in a partition, it forgets the rows of the deleted state.
//
// # The caller's part
//
//  1. Read with isolation.level=read_committed, from the beginning of the topic.
//  2. Use one Table for each writer: for each topic spend.by.<dc>. events.MergeSpend merges the
//     rows that several writers have of one campaign day, MergeLifetimes their lifetime rows.
//  3. After ErrNewer, stop: a row of a newer schema has figures that this version would misread.
//
// # What it does not do
//
// It has no Kafka client. It does not order tombstones, which have no version: it takes them in the
// order in which they arrive, which within one partition is the order of the log.
package spendlog
