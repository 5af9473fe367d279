// Package dynamotest is a DynamoDB in the process: what this system uses of it, for any number of regions with tables
// replicated between them, served to the real AWS SDK over HTTP or over connections in memory. It exists because the
// races that matter here live where no other emulator goes: in indexes that lag, in stream shards that roll over, and in
// regions whose last writer wins.
//
//	cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{"eu-west-1", "us-east-1"}, Profile: dynamotest.Hostile()})
//	db := cloud.Region("eu-west-1").Client()       // a *dynamodb.Client, over connections in memory
//	http.ListenAndServe(addr, cloud.Region("us-east-1").Handler())
//
//	SDK ─ HTTP ─▶ server ─▶ call ─▶ one operation each ─┐
//	                        (faults)                    ▼ under one mutex
//	      ┌───────────── agenda ◀──────────────────  liveTable.write
//	      │ what is due, by time                        │
//	      ├▶ indexes, late reads (lanes keep each       ├▶ rows        (internal/table)
//	      │  item's writes in order)                    ├▶ stream      (internal/stream)
//	      └▶ link ─▶ liveTable.receive of the other     └▶ journal     (internal/journal)
//	         region: the last writer wins
//
// # Invariants
//
//  1. A write is either refused and changes nothing, or it is in the table, in the stream and in the journal, in one step.
//  2. Everything that lags arrives, and for one item in the order of its writes: once nothing is on its way, each index
//     has what its table has, and all regions of a global table have the same items.
//  3. A change of an item has exactly one record in its region's stream; a write that changes nothing has none. A write
//     from another region that arrives has one too, but several of one item may have become one on the way (Merge).
//  4. Of two writes of an item, in any regions, the one with the later stamp stays, everywhere. Stamps are times, and the
//     region's name where times are equal; a write's stamp is later than that of what it found.
//  5. The same configuration, calls in the same order and the same readings of the clock give the same answers.
//  6. What is not supported is refused by its name, never passed over.
//
// Time is only read, at each request: there is no goroutine and no timer that makes things happen. So a cloud works in a
// testing/synctest bubble, on a ManualClock, and on the system's clock.
//
// # What it does not do
//
// Transactions, PartiQL but for INSERT in a BatchExecuteStatement, local secondary indexes, provisioned capacity, time to
// live, backups, tags, the parameters of before expressions (Expected, AttributesToGet ...), and global tables of the
// version 2017 or with strong consistency.
// It checks no signatures, only, if asked to, who claims to have signed. Its ItemCount is exact and its limits of
// throughput are those that faults make. DESIGN.md lists where it and other implementations differ.
package dynamotest
