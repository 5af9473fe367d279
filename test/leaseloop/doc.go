// Package leaseloop tests the whole lease loop in one process and in virtual time: the AWS SDK
// against dynamotest; bridge, liberator, dedup and balancer on the runtime with an in-process
// Kafka; executors and agents. The tests kill processes, cut networks and lose a region.
//
//	agents ─▶ dynamotest (three regions) ─▶ bridge ─▶ lease.changes ─▶ liberator, dedup, balancer ─▶ lease.commands ─▶ executors
//	   ▲                                                                                                                   │
//	   └──────────────────────────────────────────── dynamotest ◀──────────────────────────────────────────────────────────┘
//
// It has tests and benchmarks only. Package test/sim runs the same cores from a seed, over models
// of Kafka and DynamoDB; package test/integration runs them as processes on a real broker.
package leaseloop
