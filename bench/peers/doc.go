// Command peers compares weir with Kafka Streams and goka: the same log, the same broker, the same
// machine, in turns.
//
//	go run ./bench/peers [flags] [arguments of the Kafka Streams program]
//
//	            ┌▶ weir bench spend      fills the log, then bare consumer and exactly once ─▶ events/s ─┐
//	each round ─┼▶ java weir.peers.Main  exactly_once_v2   ─▶ events/s, totals ─▶ correct? ──────────────┼▶ table
//	            └▶ goka                  at least once     ─▶ events/s, totals ─▶ correct? ──────────────┘
//
// Invariants:
//
//  1. The report has a figure of a peer only if its totals equal those of the log, key by key.
//  2. A ratio compares runs of the same round; the report has the median of the rounds.
//  3. The report names each missing figure with its reason. The other systems are measured.
//
// The command itself does not connect to Kafka. README.md lists the differences of the systems and
// which of them each difference favours.
package main
