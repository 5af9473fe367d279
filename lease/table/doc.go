// Package table maps the lease protocol to a DynamoDB table: the schema, the items, and the rules
// of package lease as conditional requests. It is the only package that knows attribute names.
//
//	item         pk                 sk                 written by
//	resource     R#client#n         resource           the owner region: agents, executor, administrator
//	key          K#client#pool#key  region             that region: agents, executor
//	client       C                  client             the home region
//	pool         C#client           pool#name          the home region
//	region       G                  region             the home region
//	write lease  L                  region#grantor     the grantor: its executor's process
//	home         L                  home               the home region
//	heartbeat    B                  region             that region's bridge
//	demand       D#client#pool      region             that region's agents
//	headroom     H#client#pool      region             that region's executor, for the balancer
//	import       I#client           digest             the home region
//
// docs/leases-table.md lists the attributes of each item, with type, unit and meaning.
//
// The index "available" has the partition key bucket (client, pool, region and a number) and the
// sort key lease_available_ms. A resource is in it from its release, or registration, until it is
// leased. The table is replicated to all regions. Each region has a stream with new and old images.
//
// Invariants:
//
//   - LEASE-11: Every item has one writer region, in writer_region. Two regions never write one
//     item at the same time, so the last-writer-wins rule of global tables never decides between
//     two writes.
//   - LEASE-12: Each change of a versioned item is conditional on its version, and increments it.
//   - LEASE-13: If a response shows a clock difference above Table.Skew, the request returns
//     ErrClock.
//
// What it does not do: it decides nothing about leases (package lease does), and it does not hide
// lost answers. The SDK sends a request up to Table.Attempts times, so a write may have been made
// although its condition is reported as failed. The caller gets the item, and decides from it.
package table
