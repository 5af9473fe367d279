// Command peers measures weir beside Kafka Streams and goka: the same log, the same broker, the same machine, in turns.
//
//	go run ./bench/peers [flags] [arguments of the Kafka Streams program]
//
//	            ┌▶ weir bench spend      fills the log, then bare consumer and exactly once ─▶ events/s ─┐
//	each round ─┼▶ java weir.peers.Main  exactly_once_v2   ─▶ events/s, totals ─▶ right? ────────────────┼▶ table
//	            └▶ goka                  at least once     ─▶ events/s, totals ─▶ right? ────────────────┘
//
// Invariants:
//
//  1. A figure of a peer enters the table only if its totals are those of the log, key by key.
//  2. A ratio is taken between runs of the same round, then the median of the rounds.
//  3. What could not be measured is named with the reason; it is never left out quietly. The others go on.
//
// It speaks no Kafka itself. What is unequal, and in whose favour, is in README.md.
package main
