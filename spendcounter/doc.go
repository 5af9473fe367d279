// Package spendcounter folds ad events into spend: the charges and refunds of each campaign on each
// budget day in each currency, by serving datacentre and event type. One Counter is one task: one
// partition of the input topics, which is one shard of the accounts.
//
//	ads.events ──────────┐         ┌─ rejected: Batch.Rejects, for the dead-letter topic
//	ads.adjustments ─────┼─ Fold ──┤
//	their copies .from.* ┘    │    └─▶ campaign days in memory ◀── Get, on a miss ── table 1
//	                          │                  │
//	                 buckets of ids,             └─ Flush ─▶ table 1 = spend.by.<dc>   absolute values
//	                 60 s rings ─────────────────────┬─────▶ table 2: task record      not recomputable
//	                          ▲                      ├─────▶ table 4: campaign -> accounts
//	                          │                      ├─────▶ tables 5, 10: rankings, totals    function of table 1
//	                          │                      ├─────▶ table 9: hours, but the newest of each day
//	                          │                      ├─────▶ table 11: parts, by line item and arm
//	                          │                      ├─────▶ tables 6, 7, 8: buckets, references, imports
//	                          │                      ├─────▶ tables 128, 129 (local)   ids, rings
//	                          │                      ├─────▶ spend.audit: each origin and minute that has ended
//	                          └─ Rebuild: the log    └─────▶ table 12: health, once a second, behind all other rows
//
// Repartitioner converts the state of one number of shards to another number. Event ids are moved
// in table 3.
//
// Fold processes a batch in chunks of 512 records, and each chunk in passes over columns: decode
// and validate every record; admit each record in log order (transport duplicate, import, lateness
// and bucket, sums that would overflow, clocks); probe the duplicate set; find the entries; add.
// The passes let the cache misses of neighbouring events overlap. The result is the same as if
// events were processed one after another: no figure depends on how the log was cut into batches.
//
// # The caller's part
//
//  1. Call New, then RebuildFrom, then Rebuild for every record in [RebuildFrom, Task.Next) of
//     each topic, then Fold and Flush in turn.
//  2. After a Flush, the next call reads its changes with Get and Scan: see stream.Handler.
//  3. After an aborted transaction, or an error, discard the Counter and make another one with
//     New. There is no undo.
//
// # Invariants
//
//   - SPEND-12: Spend is a fold of the inputs. It does not depend on clocks, chance, batches,
//     flushes, restarts or the content of the cache. Wall time (Batch.NowMs, Commit.NowMs) affects
//     health figures only.
//   - SPEND-13: A rejected record leaves no trace. Everything that can reject it is checked before
//     the first change. One exception: a rejected copy advances the position of its origin.
//   - SPEND-14: An event in time is charged once. Of the events with one id, account and event
//     time, the first in the order of folding is charged. The others are counted as duplicates on
//     the campaign day that they name. Whether an event is in time or late depends on the event and
//     the stream of its origin alone. Late events are charged and counted, or rejected.
//   - SPEND-15: A copied record is applied once, however often it is copied. Its origin offset
//     decides, without any window. Records of the origin of which no copy arrived are counted as
//     lost, and rejected copies as rejected.
//   - SPEND-16: The charged micros of all campaign days and lifetime rows add up to the task's
//     cumulative micros, which fit int64. No sum wraps.
//   - SPEND-17: The order between topics does not matter: replicas that folded the same records of
//     each origin have the same spend and the same counts of duplicates and late events, if the
//     copies of each event are equal. DESIGN.md lists the figures that depend on the order.
//   - SPEND-18: Two keys with the same hash are two campaigns: keys are compared in full.
//   - SPEND-19: After Rebuild the duplicate set has exactly the ids of before, with local tables or
//     without.
//   - SPEND-20: An entry that changed since the last Flush is never evicted from memory.
//   - SPEND-21: A campaign and an account have a row in table 4 if and only if they have one in
//     table 1.
//   - SPEND-22: Table 5 has the RankingSize campaigns with the greatest charges of each open budget
//     day and currency in table 1, and those with most events. Table 10 has the sums over all
//     campaigns. Both depend on table 1 only. If the task record marks them as unranked, the next
//     Flush builds them from table 1.
//   - SPEND-23: An imported event and an adjustment are applied once for ever, without any window.
//     Table 7 has a row for each adjustment that was applied, with the number of other adjustments
//     that arrived under its reference.
//   - SPEND-24: An adjustment names the datacentre that served the ads. A refund above the charges
//     of its campaign day is applied, and counted.
//   - SPEND-25: Of two records of one campaign day, the later one is newer by
//     events.CompareVersions, also if the state was deleted in between. A record that a promotion
//     changed has one more correction than before, and later changes keep that number.
//   - SPEND-26: The hours of a campaign day have a part of its charges and events. They have all,
//     except events far from the day, if Hours was set from the first event of the day on. The
//     newest hour is in the record of the campaign day, each other hour in table 9.
//   - SPEND-27: The row to which an event is charged depends on its budget day and the closed day
//     alone. A closed day never opens again. When no row of a closed day is left in table 1, the
//     rows depend on the inputs only, not on whether a charge came before or after the day was
//     closed. The progress of the pass that moves the rows is in the task record and does not
//     depend on the inputs alone: Settled reports the end.
//   - SPEND-28: A part is a pair of line item and arm that an event of the campaign day names. With
//     Parts N, the N parts with the smallest hashes have a row each, and one row has the sum of all
//     other parts. So the rows do not depend on the order of events. A part among the N smallest of
//     the whole day is among the N smallest at any time, and is never added to the sum. When a part
//     is added to the sum, N smaller ones exist, and they remain, so all its later events are added
//     to the sum, too. Events without line item and arm, or with an invalid one, have no part.
//     Refunds, duplicates and events of closed days have none either. If N does not change during
//     the day, the parts add up to the charges and events that have a part.
//   - SPEND-32: In a transaction of the changelog, the health row of the shard is behind all other
//     rows, and describes the state after them. A reader that has read a health row has read every
//     row that the health row describes. DESIGN.md has what compaction changes.
//   - SPEND-33: For each origin and minute of its greatest ingest time, one SpendAudit is emitted
//     when the minute has ended. Its figures depend on the records of the origin alone: counters
//     that lack no copy emit the same ones. Exceptions are rejections that depend on other origins:
//     an overflow of the sum of the shard, and the name of a 257th serving datacentre.
//
// # What it does not do
//
// It has no budgets and rejects no event because of one: readers compute overdelivery. It has no
// time zones: the ad server stamps the budget day, and an event without one is charged to its UTC
// day. It does not convert currencies. It does not order events: a late event is charged to the day
// that it names. It does not reverse events by their ids. It sends nothing to other datacentres and
// does not read their spend. DESIGN.md describes the guarantees of the duplicate window and its
// limits, and why events are not reversed.
package spendcounter
