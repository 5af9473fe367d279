// Package ledger is a processor for tests of the runtime: a sum per key.
//
//	"in", "in2" ──▶ ledger ──▶ changelog "log", output "out", dead-letter topic "ledger.dlq"
//	                      └──▶ output "fired" (TimedHandler)
//
// Invariants, which tests verify:
//
//  1. The sum of a key is the sum over its records that are not dead letters, in table 1.
//  2. Each accepted record has one output, whose value is its origin, "topic/partition/offset".
//  3. The value "bad" is rejected. The value "poison" panics, after a change in memory that must
//     not reach the state.
//  4. A TimedHandler sets two timers for each accepted record, one of each clock. Each timer fires
//     once, as a record of "fired".
//
// It knows no Kafka, and is for tests only.
package ledger
