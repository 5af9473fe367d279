// Package integration holds tests that run the real binary against real brokers in containers, and kill both. It has no
// code of its own.
//
//	go build ./cmd/weir ──▶ weir run (a), weir run (b) ◀── SIGKILL, SIGTERM, SIGSTOP
//	                               ▲│
//	load ──▶ ads.events ──▶ apache/kafka in containers ◀── docker restart, docker kill
//	  │                            │
//	  ▼                            ▼ read_committed
//	ledger: a dumb recount ══ follower: last value of every key of spend.by.local, and the chain of markers
//
// What each test asserts at its end:
//
//  1. Every row of spend.by.local equals the recount of what was produced: micros, events by type, duplicates. No row is
//     missing and none is left over.
//  2. Per partition the transactions are numbered without a gap, the owner's epoch never falls, input offsets never go
//     back: nothing was committed twice, and nobody wrote after its successor. The same holds for spend.health.
//  3. The dead-letter queue holds what was meant for it and nothing else.
//
// The lease loop has the same brokers and processes, and regions of DynamoDB over HTTP from package dynamotest in the
// test's process: indexes and replication lag, stream shards roll over every two seconds, requests are throttled and
// answers lost.
//
//	agents ──▶ regions ◀──▶ weir run --roles leases (a), (b) ◀── SIGKILL
//	              ▲                      │▲
//	     Cut, Unreachable       apache/kafka in a container
//
// What its tests assert, after all was quiet:
//
//  4. Every resource is known, in one region, and available; all regions have the same rows.
//  5. lease.changes has each version of each row from a stream once, those of one region in order, none is missing, and
//     the last is what the table has.
//  6. No two keys may ever have used one resource at one time, by what the agents were told; keys that two regions leased
//     came to have one lease.
//  7. Each command has a result, none waits, and nothing was rejected.
//
// The tests share one single-node broker, and each begins with fresh topics and without the group. They skip where no
// Docker engine answers, and under -short.
//
// What they do not do: reach edges inside the commit cycle on purpose (the crash model of package processors does), or
// measure throughput (`weir bench spend` does).
package integration
