// Package simkafka is a Kafka of up to three brokers in memory, for tests in virtual time: franz-go's kfake on a network that
// breaks when it is told to.
//
//	Cluster ── kfake, three brokers if not fewer
//	   ├── Link "a" ── connections of one process: up, frozen or cut
//	   └── Link "b"
//
// Invariants:
//
//  1. Each request takes time. A client that repeats one at once, such as a fetch of a partition whose leader moved, would
//     stop the clock of the bubble for all others.
//  2. A cut link delivers nothing more, in either direction: what was not written is never sent.
//  3. A frozen link delivers late: writes and reads under way wait for its thaw.
//
// It runs in testing/synctest with the build tag synctests, which makes the client's mutexes visible to the bubble. It does
// not know the runtime: tests inside package processors use it too.
package simkafka
