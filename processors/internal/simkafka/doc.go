// Package simkafka is a Kafka cluster of up to three brokers in memory, for tests in virtual time:
// franz-go's kfake on a network with failures that the test injects.
//
//	Cluster ── kfake, one to three brokers
//	   ├── Link "a" ── connections of one process: up, frozen or cut
//	   └── Link "b"
//
// Invariants:
//
//  1. Each request takes time. Otherwise a client that repeats a request at once, such as a fetch
//     of a partition whose leader moved, would stop the clock of the bubble for all others.
//  2. A cut link delivers nothing in either direction. What was not delivered is lost.
//  3. A frozen link delivers late: pending reads and writes wait for Thaw.
//
// It runs in testing/synctest with the build tag synctests, which makes the client's mutexes
// visible to the bubble. It does not import the runtime: tests inside package processors use it,
// too.
package simkafka
