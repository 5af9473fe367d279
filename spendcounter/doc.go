// Package spendcounter folds ad events into spend: the charges and refunds of each campaign on each
// budget day in each currency, by serving datacentre and event type. One Counter is one task: one
// partition of the input topics, which is one shard of the accounts.
//
//	ads.events ──────────┐         ┌─ rejected: Batch.Rejects, for the dead-letter topic
//	ads.events.from.<dc> ┼─ Fold ──┤
//	ads.adjustments ─────┘    │    └─▶ campaign days in memory ◀── Get, on a miss ── table 1
//	                          │                  │
//	                  duplicate set,             └─ Flush ─▶ table 1 = spend.by.<dc>   absolute values
//	                  60 s rings ────────────────────┬─────▶ table 2: task record      not recomputable
//	                          ▲                      ├─────▶ tables 128, 129 (local)   ids and rings
//	                          └─ Rebuild: the log    └─────▶ spend.health              once a second
//
// Repartitioner converts the state of one number of shards to another number. Event ids are moved
// in table 3.
//
// Fold processes a batch in chunks of 512 records, and each chunk in passes over columns: decode
// and validate every record; admit each record in log order (transport duplicate, rotation of the
// ids, sums that would overflow, clocks); probe the duplicate set; find the entries; add. The
// passes let the cache misses of neighbouring events overlap. The result is the same as for one
// event after the other: no figure depends on how the log was cut into batches.
//
// # The caller's part
//
//  1. Call New, then RebuildFrom, then Rebuild for every record in [RebuildFrom, Task.Next) of
//     each topic, then Fold and Flush in turn.
//  2. What a Flush handed over is what Get and Scan return from the next call on: see
//     stream.Handler.
//  3. After an aborted transaction, or an error, discard the Counter and make another one with
//     New. There is no undo.
//
// # Invariants
//
//  1. Spend is a fold of the inputs. It does not depend on clocks, chance, batches, flushes,
//     restarts or the content of the cache. Wall time (Batch.NowMs, Commit.NowMs) affects health
//     figures only.
//  2. A rejected record leaves no trace. Everything that can reject it is checked before the first
//     change.
//  3. An event is charged once. Of the events with one id, within one account and the duplicate
//     window, the first in the order of folding is charged. The others are counted as duplicates
//     on the campaign day that they name.
//  4. A copied record is applied once, however often it is copied. Its origin offset decides,
//     without any window. Skipped offsets are counted as lost; they include rejected records of
//     the origin.
//  5. The charged micros of all campaign days add up to the task's cumulative micros, which fit
//     int64. No sum wraps.
//  6. For inputs without common ids, the order between topics affects nothing but as_of_offset.
//  7. Two keys with the same hash are two campaigns: keys are compared in full.
//  8. After Rebuild the duplicate set is exactly as before, with local tables or without.
//  9. An entry that changed since the last Flush is never evicted from memory.
//
// # What it does not do
//
// It has no budgets and rejects no event because of one: readers compute overdelivery. It has no
// time zones: the ad server stamps the budget day, and an event without one is charged to its UTC
// day. It does not convert currencies. It does not order events: a late event is charged to the day
// that it names. It sends nothing to other datacentres and reads none of their spend. DESIGN.md
// describes the guarantees of the duplicate window and its limits.
package spendcounter
