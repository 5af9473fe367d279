// Package spendcounter folds ad events into spend: what each campaign was charged and refunded on each budget day in each
// currency, by serving datacentre and event type. One Counter is one task: one partition of the input topics, which is
// one shard of the accounts.
//
//	ads.events ──────────┐         ┌─ refused: Batch.Rejects, for the dead-letter queue
//	ads.events.from.<dc> ┼─ Fold ──┤
//	ads.adjustments ─────┘    │    └─▶ campaign days in memory ◀── Get, on a miss ── table 1
//	                          │                  │
//	                  duplicate set,             └─ Flush ─▶ table 1 = spend.by.<dc>   absolute values
//	                  60 s rings ────────────────────┬─────▶ table 2: task record      what cannot be recomputed
//	                          ▲                      ├─────▶ tables 128, 129 (local)   ids and rings, for a fast start
//	                          └─ Warm: the log again └─────▶ spend.health              once a second
//
// Move makes of the state of so many shards that of another number; ids come along in table 3.
//
// A batch goes through in chunks of 512 records, pass by pass over columns: decode and check every record; in log order,
// admit each (transport duplicate, rotation of the ids, sums that would overflow, clocks); probe the duplicate set; find
// the entries; add. The passes exist so that the cache misses of neighbouring events overlap. What comes out is what one
// event after the other would give: no figure depends on how the log was cut into batches.
//
// # The caller's part
//
//  1. New, then WarmFrom, then Warm for every record in [WarmFrom, Task.Next) of each topic, then Fold and Flush in turn.
//  2. What a Flush handed over is what Get and Scan return from the next call on: see stream.Handler.
//  3. After an aborted transaction, or an error, throw the Counter away and make a New one. There is no undo.
//
// # Invariants
//
//  1. Spend is a fold of the inputs: it depends on neither clock nor chance, nor on batches, flushes, restarts or what
//     the cache held. Wall time (Batch.NowMs, Commit.NowMs) decides health figures only.
//  2. A refused record leaves no trace. Whatever can refuse it is checked before the first change.
//  3. An event is charged once: of those with one id within one account and the duplicate window, the first in the order
//     of folding. The others are counted on the campaign day that they name.
//  4. A copied record is applied once, however often it is copied: by its origin offset, without any window. Offsets
//     jumped over are counted as lost; records of the origin that were refused are among them.
//  5. The charged micros of all campaign days add up to the task's cumulative micros, which fit int64: no sum wraps.
//  6. Records that commute, commute: for inputs without common ids the order between topics changes nothing but
//     as_of_offset.
//  7. Two keys of one hash are two campaigns: keys are compared in full.
//  8. After Warm the duplicate set is exactly as it was, with local tables or without.
//  9. An entry that changed since the last Flush is never dropped from memory.
//
// # What it does not do
//
// It holds no budget and refuses no event because of one: overdelivery is computed by readers. It knows no time zones: the
// budget day is stamped when the ad is inserted, and where it is missing the UTC day of the event stands in. It does not
// convert currencies. It does not order events: a late one is charged to the day it names. It sends nothing to other
// datacentres and reads none of their spend. DESIGN.md says what the duplicate window promises and what lies beyond it.
package spendcounter
