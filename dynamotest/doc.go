// Package dynamotest is a DynamoDB inside the process, for tests and demonstrations. It has any
// number of regions with tables replicated between them. The AWS SDK for Go talks to it over HTTP
// or over connections in memory.
//
//	cloud, err := dynamotest.New(dynamotest.Config{
//		Regions: []string{"eu-west-1", "us-east-1"},
//		Profile: dynamotest.Hostile(),
//	})
//	defer cloud.Close()
//	db := cloud.Region("eu-west-1").Client() // a *dynamodb.Client, over connections in memory
//	http.ListenAndServe(addr, cloud.Region("us-east-1").Handler())
//
// Its purpose is to find races that other emulators do not show: indexes that lag behind their
// table, stream shards that close and split, and regions between which the last writer wins.
//
// # What it implements
//
//   - Tables: CreateTable, DescribeTable, ListTables, UpdateTable and DeleteTable, with on-demand
//     capacity, global secondary indexes, streams and deletion protection.
//   - Items: GetItem, PutItem, UpdateItem, DeleteItem, Query, Scan (also in segments), BatchGetItem
//     and BatchWriteItem, with condition, update, filter, key condition and projection expressions.
//   - PartiQL: INSERT statements in a BatchExecuteStatement, and no other statement.
//   - Streams: ListStreams, DescribeStream, GetShardIterator and GetRecords. Records are kept for
//     24 hours, or Profile.StreamRetention; shards close by age and by number of records, and then
//     continue in one child or split in two.
//   - Global tables of the version 2019.11.21: UpdateTable adds and removes replicas, writes arrive
//     asynchronously, and the last writer wins.
//   - Answers: consumed capacity, the sizes of items, and DynamoDB's errors with their names and
//     texts. Numbers have DynamoDB's 38 digits.
//   - A directory that keeps the tables after a restart (Config.Dir).
//
// # Lag and faults
//
// A Profile sets the lag of indexes, of eventually consistent reads, of streams and of replication,
// as ranges from which the cloud draws. Hostile is a profile for tests, Friendly one for
// demonstrations, and the zero Profile has no lag and no faults.
//
// A Fault has a kind, a probability, and optionally the region, the operation and the table that it
// applies to. The kinds are Throttle, ServerError, LostAnswer, Slow and Unreachable. Profile.Faults
// injects faults from the start, Cloud.SetFaults replaces them at any time, and Cloud.Cut stops the
// replication from one region to another. Cloud.Settle makes everything that lags arrive.
// Config.Seed determines all random choices.
//
// # How it works
//
//	SDK ─ HTTP ─▶ server ─▶ call ─▶ one operation each ─┐
//	                        (faults)                    ▼ under one mutex
//	      ┌───────────── agenda ◀──────────────────  liveTable.write
//	      │ tasks by time                               │
//	      ├▶ indexes, stale rows (lanes keep each       ├▶ rows        (internal/table)
//	      │  item's writes in order)                    ├▶ stream      (internal/stream)
//	      └▶ link ─▶ liveTable.receive of the other     └▶ journal     (internal/journal)
//	         region: the last writer wins
//
// The clock is read at each request. There are no goroutines and no timers. So a cloud works in a
// testing/synctest bubble, on a ManualClock, and on the system's clock. DESIGN.md describes the
// design and the decisions.
//
// # Invariants
//
//   - DEV-7: A write is either rejected and changes nothing, or it is in the table, in the stream
//     and in the journal, in one step.
//   - DEV-8: Every write that lags arrives, and the writes of one item arrive in their order. When
//     no write is in transit, each index has what its table has, and all regions of a global table
//     have the same items.
//   - DEV-9: A change of an item has exactly one record in its region's stream. A write that
//     changes nothing has none. A replicated write that is applied has one too, but several writes
//     of one item may have become one on the way (Profile.Merge).
//   - DEV-10: Of two writes of an item, in any regions, the one with the later stamp stays in every
//     region. A stamp is a time; if times are equal, the region's name decides. The stamp of a
//     write is later than the stamp of the item that it found.
//   - DEV-11: The same configuration, calls in the same order and the same readings of the clock
//     give the same answers.
//   - DEV-12: An operation or a parameter that is not supported is rejected with an error that
//     names it. It is never ignored.
//
// # How it was compared
//
// TestDifferential sends random requests to this package and to dynoxide 3.2.0, another
// implementation, and compares the bodies of answers and the names of errors. Where the two differ,
// DynamoDB's documentation decided, or tests that other projects have run against DynamoDB itself;
// DESIGN.md lists these cases. The expressions are also compared with a second, simple
// implementation in their tests.
//
// # What it does not do
//
// It has no transactions, no PartiQL except INSERT in a BatchExecuteStatement, no local secondary
// indexes, no time to live, no backups and no tags. CreateTable accepts provisioned capacity, which
// is only described; UpdateTable does not change it. It has none of the parameters that expressions
// replaced (Expected, AttributesToGet and so on). It has no global tables of the version 2017 or
// with strong consistency. It verifies no signatures; Config.AccessKeyID only compares the access
// key id. DescribeTable's ItemCount is exact, while DynamoDB updates it every six hours. Limits of
// throughput exist only as faults.
package dynamotest
