// Package sink calls a function for each record of a topic, at least once: for effects on the world outside Kafka, which
// no transaction takes in.
//
//	        assigned                    first of its key, a slot is free          nil
//	fetch ───────────▶ line (1/partition) ───────────────────────▶ Do ──────────────────▶ done ─▶ commit of what is done
//	  ▲                  │ too many wait                           │ error                          up to the first that is not
//	  └── paused ◀───────┘                                         └──▶ backoff, the same again
//
// Invariants:
//
//	E1 Nothing is skipped: a record is done when Do returned nil for it, and no offset beyond a record that is not done is
//	   ever committed.
//	E2 Records of one key are done one after the other, in the order of the partition. A record that fails holds back those of
//	   its key and no others, until Config.Pending records of its partition wait; then fetching of that partition pauses.
//	E3 What a partition that was taken away, or a process that stops, has under way is awaited for Config.Grace, and then
//	   cancelled and not committed: whoever has the partition next does it again.
//	E4 No offset is ever reset. A partition that cannot be read at its offset stops, and says so in its Status.
//
// Do may be called for one record again and again, and, when the group gives up on a process that does not know it yet, by
// two processes at once: it must be an effect that can be repeated, such as a conditional write.
//
// What it does not do: it keeps no state, writes no output and has no dead letters. What can never succeed is for Do to
// tell from what can, and to say so elsewhere.
package sink
