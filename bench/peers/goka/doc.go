// Command goka does the work of weir's spend counter with goka, for a comparison on the same log
// and the same broker.
//
//	log ──▶ spendKeys (account ─▶ spend key) ──▶ count ──▶ group table: LevelDB and its topic ──▶ totals
//
// A goka processor has one value per message key, and the key of the log is the account, not the
// campaign. With goka alone, another key needs a second topic in Kafka. Here an interceptor of the
// consumer sets the key, which favours goka. The hasher of the table's records uses weir's shards,
// so that a record goes to the partition in which it was counted.
//
// Invariants:
//
//  1. The time is measured by the committed offsets on the broker, from a quarter of the log to its
//     end.
//  2. The output is one line of JSON on stdout with the totals of the table. The caller checks
//     them.
//  3. The program removes its directory, its table topic and its group.
//
// goka is at least once: a crash can count events twice. The program detects no duplicates; weir
// does.
package main
