// Package events defines the terms of weir's own applications: ad events, the topics that carry
// them, and the written forms of accounts, days, money and currencies. Package stream and the
// runtime do not know them. The schemas are eventspb/ads.proto, eventspb/pacing.proto and
// eventspb/leases.proto.
//
// # Terms
//
//	event       one engagement (impression, click, ...) that may cost its advertiser money:
//	            eventspb.AdEvent, which the hot path reads as a View
//	account     an advertiser; the unit of ordering and of sharding
//	campaign    what an account spends on; unique within its account
//	shard       Shard(account): the partition of all records of an account, in every topic
//	budget day  a Day in the account's time zone, stamped when the ad was inserted;
//	            if it is absent, UTCDay of the event
//	micros      money: an int64, millionths of a currency's unit; never a float
//	budgets     what the campaigns of an account may spend: eventspb.AccountBudgets, which package
//	            pacing/budget reads
//	adjustment  a refund, a credit, or a correction for invalid traffic
//	spend       the totals of one campaign, budget day and currency, per serving datacentre
//	datacentre  a region with its own Kafka; ValidateDC states the form of its name
//
// # The topics of one datacentre
//
//	ad servers ──▶ ads.events ───────────┐
//	finance ─────▶ ads.adjustments ──────┤                ┌──▶ spend.by.<dc>     totals, progress each
//	other DCs ───▶ both, .from.<dc> ─────┴─▶ spendcounter ┤                      second (compacted)
//	               (copied, same partition)               ├──▶ spend.audit       what was counted, by minute
//	                                                      └──▶ spendcounter.dlq  rejected records
//
// Budgets are in ads.budgets and its copies, which pacing reads. Catalog and CopiedTopics return
// the settings of these topics as data, PacingCatalog those of budgets, and LeaseCatalog those of
// the lease loop. The caller creates the topics.
//
// # Invariants
//
//   - SPEND-1: A record of an account is in partition Shard(account) of its topic. Shard and
//     EventHash never change: the tests hold golden values of both.
//   - SPEND-2: An event's identity is (account, event id). EventHash is that identity in 64 bits.
//   - SPEND-3: Decode accepts the same bytes as proto.Unmarshal and reads the same values from
//     them; a fuzz target compares the two. Decode neither allocates nor panics, whatever the
//     bytes.
//   - SPEND-4: No price is rounded: PriceUnit.Micros returns the exact amount or an error, and
//     AddMicros reports a sum that does not fit in 64 bits.
//   - SPEND-5: Day, Currency and the event types have one written form each, and reading that form
//     gives the same value.
//
// # What a producer must do
//
// Set the partition by Shard: the default partitioners of client libraries use another hash. Kafka
// stamps records of ads.events and ads.adjustments when it appends them. So a producer may replay
// events of past years with their old event_ms, and Kafka does not delete them for their age. For
// an event without ingest_ms, the time of the append is the ingest time.
//
// # Measurements of the decoder
//
// BenchmarkDecode on a shared 2-core Xeon, nanoseconds per event, the minimum of several runs.
// "Same" repeats one typical event of 88 bytes and ten fields. "Mixed" cycles through 4,096 events
// that differ in the length of every field:
//
//	                                  same   mixed   allocations
//	View.Decode                         46      67   none
//	vtprotobuf 0.6.0, unsafe strings    54       -   none; checks no UTF-8
//	protowire, step by step            111     175   none
//	vtprotobuf 0.6.0                   125       -   5
//	proto.Unmarshal, message reused    263     343   5
//	hyperpb 0.1.3, reading one field   278     288   1-2
//
// vtprotobuf was measured once and is not in the benchmark, because its generated code would be in
// the repository for the benchmark alone.
//
// # What it does not do
//
// Package events does not validate events: the fold (spendcounter) decides whether a price may be
// negative or a campaign empty. It reads no files (events/ingest), has no Kafka client (processors)
// and reads no clock.
package events
