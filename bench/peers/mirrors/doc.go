// Command mirrors compares weir's mirror with Kafka's MirrorMaker 2: each copies the same log of ad
// events from one Kafka to another, in turns.
//
//	go run ./bench/peers/mirrors [flags] [-- properties of MirrorMaker 2]
//
//	source Kafka                    one at a time                 target Kafka
//	ads.events ──┬▶ weir run --roles mirror ────────────────▶ copies ─┐
//	   │         ├▶ MirrorMaker, exactly once ──────────────▶ copies ─┤
//	   │         └▶ MirrorMaker, at least once ─────────────▶ copies ─┤
//	   └─ original: a digest of each record ─▶ comparison ◀───────────┴─ end offsets every 50 ms
//
// There are three measurements: the rate at which a full log is copied, what is wrong in the copies
// after the copier was killed by SIGKILL, and the time until a record is visible at the target.
//
// Invariants:
//
//  1. All systems are measured in the same way, from outside: by the read-committed end offsets of
//     the topic of copies, and by a read-committed consumer.
//  2. Each copied log is compared with the original record by record. Any difference in weir's
//     copies is an error of the run. Differences in the copies of MirrorMaker are a result.
//  3. A ratio compares runs of the same round; the report has the median of the rounds.
//  4. The report names each missing figure with its reason. The other systems are measured.
//
// The comparison does not cover what only one of the systems has, such as the offsets of groups
// that MirrorMaker copies. ../README.md lists the differences and which system each one favours.
package main
