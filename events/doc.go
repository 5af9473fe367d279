// Package events holds the nouns of the system: what an ad event is, which topics carry it, and how accounts, days,
// money and currencies are written. Every other package speaks in these words. The schemas are eventspb/ads.proto.
//
// # The nouns
//
//	event       one engagement (impression, click, ...) that may cost its advertiser money: eventspb.AdEvent, as the
//	            hot path sees it a View
//	account     an advertiser; the unit of ordering and of sharding
//	campaign    what an account spends on; unique within its account
//	shard       Shard(account), 0 to 23: the partition of all of an account's records, everywhere
//	budget day  a Day in the account's time zone, stamped when the ad was inserted; absent: UTCDay of the event
//	micros      money: an int64, millionths of a currency's unit; never a float
//	adjustment  money given back: a refund, a credit, invalid traffic
//	spend       absolute figures of one campaign, budget day and currency, per serving datacentre
//	datacentre  a region with its own Kafka, named as ValidateDC says
//
// # The topics of one datacentre
//
//	ad servers ──▶ ads.events ───────────┐
//	finance ─────▶ ads.adjustments ──────┤                ┌──▶ spend.by.<dc>     its state, published (compacted)
//	other DCs ───▶ ads.events.from.<dc> ─┴─▶ spendcounter ┼──▶ spend.health      how far it is, once a second
//	               (copied, same partition)               └──▶ spendcounter.dlq  what it could not count, and why
//
// Catalog and Copied hold their settings as data; creating them is for the caller.
//
// # Invariants
//
//  1. A record of an account is in partition Shard(account) of its topic. Shard and Hash never change: their golden
//     values are in the tests.
//  2. An event's identity is (account, event id). Hash is that identity in 64 bits.
//  3. Decode accepts what proto.Unmarshal accepts and reads the same from it; a fuzz target holds it to that. It neither
//     allocates nor panics, whatever the bytes.
//  4. No price is rounded: PriceUnit.Micros is exact or an error, and AddMicros says when a sum does not fit.
//  5. Day, Currency and the event types have one written form each, and reading it back gives the same value.
//
// # What a producer must know
//
// Set the partition by Shard; a client library's own partitioner hashes otherwise. Kafka stamps ads.events and
// ads.adjustments when it appends: replayed events of years ago belong there with their old event_ms and are not deleted
// for their age. An event without ingest_ms was ingested when its record was appended.
//
// # The decoder, by measurement
//
// BenchmarkDecode on a shared 2-core Xeon, the least of several runs, ns an event. "Same" is one typical event of 88
// bytes and ten fields, "mixed" are 4,096 that differ in every length:
//
//	                                  same   mixed   allocations
//	View.Decode                         46      67   none
//	vtprotobuf 0.6.0, unsafe strings    54       -   none; checks no UTF-8
//	protowire, step by step            111     175   none
//	vtprotobuf 0.6.0                   125       -   5
//	proto.Unmarshal, message reused    263     343   5
//	hyperpb 0.1.3, reading one field   278     288   1-2
//
// vtprotobuf was measured once, because its code would have to be checked in for the benchmark alone.
//
// # What it does not do
//
// It judges no event: whether a price may be negative or a campaign empty is the fold's to say (spendcounter). It reads
// no files (cmd/weir), talks to no Kafka (processors) and knows no clock.
package events
