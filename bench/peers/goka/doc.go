// Command goka does the work of weir's spend counter with goka, for a comparison on the same log and the same broker.
//
//	log ──▶ rekey (account ─▶ spend key) ──▶ count ──▶ group table: LevelDB and its topic ──▶ totals
//
// A goka processor has one value per message key, and the log is keyed by account, not by campaign. goka's own way to
// another key is a second hop through Kafka; here an interceptor of the consumer sets the key instead, which spares goka
// that hop. The table's records go to the partition that they were counted in, by a hasher that knows weir's shards.
//
// Invariants:
//
//  1. It is timed by the offsets that the broker holds as committed, from a quarter of the log to its end.
//  2. One line of JSON on stdout, with the totals that the table holds, key by key. The driver judges them.
//  3. It leaves nothing behind: no directory, no table topic, no group.
//
// goka is at least once: a crash can count events twice. It recognises no duplicates here, which weir does.
package main
