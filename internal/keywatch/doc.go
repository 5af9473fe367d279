// Package keywatch wakes callers that wait for changes of keys.
//
//	Add(prefix) ──▶ Set ◀── Changed(keys), after each commit
//	                 │
//	                 └─▶ the channels of the prefixes of these keys
//
// Invariants:
//
//  1. If Changed begins after Add has returned, and a key has the prefix of the watch, the channel
//     of the watch has a wake-up. After WakeAll all channels have one.
//  2. Wake-ups are coalesced: a channel has one at most, however slow its receiver is. No call
//     waits for a receiver.
//  3. A key wakes no watch whose prefix it does not have. WakeAll wakes all.
//  4. Close closes all channels, once.
//  5. An empty Set costs one atomic load for each commit.
//
// A wake-up has no key and no value: the receiver reads the values. It registers first and reads
// afterwards, so that it misses no change. A Set is safe for concurrent use.
package keywatch
