// Package compose holds a weir of two processes and three regions on a real Kafka, for docker compose, and the test that starts it.
// It has no code of its own; README.md says what is here and what to try.
//
//	load ──▶ kafka ◀──▶ weir-a, weir-b ◀── SIGKILL
//	  └────▶ dynamodb: eu-west-1, us-east-1, us-west-2 ──▶ streams
//
// What the test asserts:
//
//  1. All services come up healthy from nothing, and what runs once ends with 0.
//  2. An event is counted once, whichever process is asked, before and after one is killed.
//  3. A key has one lease, and its resource is free again some time after its end, before and after.
//  4. Both processes share every application, bridge, cores, executors and spend counter; then the one that is left has all of each.
//     No container was killed for its memory.
//
// That rules and dashboard name metrics that exist, and that the files agree with each other, is tested without containers, in
// cmd/weir. What it does not do: start Prometheus and Grafana.
package compose
