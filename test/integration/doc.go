// Package integration holds tests that run the real binary against real brokers in containers, and
// kill both. It has no code of its own.
//
//	go build ./cmd/weir ──▶ weir run (a), weir run (b) ◀── SIGKILL, SIGTERM, SIGSTOP
//	                               ▲│
//	load ──▶ ads.events ──▶ apache/kafka in containers ◀── docker restart, docker kill
//	  │                            │
//	  ▼                            ▼ read_committed
//	ledger: simple recount ══ follower: last value of every key of spend.by.local, chain of markers
//
// Each test asserts at its end:
//
//   - SPEND-12: Every row of spend.by.local equals the recount of the produced events: micros,
//     events by type, duplicates. No row is missing, and there is no other row.
//   - RUN-7: Per partition the transactions are numbered without a gap, the owner epoch never
//     falls, and input offsets never go back: nothing was committed twice, and no owner wrote after
//     its successor. The same holds for the health rows.
//   - SPEND-32: The health row of a transaction is its last row.
//   - RUN-1: The dead-letter topic holds the expected records and no others.
//
// The lease loop runs with the same brokers and processes. Its regions are DynamoDB over HTTP from
// package dynamotest in the process of the test: with index lag and replication lag, stream shards
// that roll over every two seconds, throttled requests and lost responses.
//
//	agents ──▶ regions ◀──▶ weir run --roles leases (a), (b) ◀── SIGKILL
//	              ▲                      │▲
//	     Cut, Unreachable       apache/kafka in a container
//
// Its tests assert, once the loop is idle:
//
//   - LEASE-67: Every resource is known in one region and available; all regions have the same
//     rows.
//   - LEASE-14: lease.changes has each version of each row from a stream once, and the versions of
//     one region in order. No version is missing, and the last one equals the table.
//   - LEASE-1 and LEASE-3: By the leases that agents returned, no two keys may ever have used one
//     resource at the same time. Keys that two regions leased have one lease at the end.
//   - LEASE-63 and LEASE-65: Each command has a result, no command waits, and no record was
//     rejected.
//
// The follower of package follower reads a compacted topic of transactions that may abort, on a
// disk that loses unsynced writes when the follower is killed. Its test asserts:
//
//   - RUN-56: The rows equal those of a plain consumer, with their offsets.
//
// Tests that measure how long processes take run alone. Other tests run two at a time, each on one
// of two single-node brokers; each test begins without topics and groups. Beside the listener
// PLAINTEXT a broker has TLS, where a client needs a certificate, and PASSWORD, which is SCRAM over
// TLS. The tests are skipped without a Docker engine, and under -short.
//
// They do not reach the failpoints of a commit (the crash harness of package processors does), and
// they do not measure throughput (`weir bench spend` does).
package integration
