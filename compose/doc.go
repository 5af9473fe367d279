// Package compose holds a docker compose file with two weir processes and three regions on a real
// Kafka, and the test that starts it. It has no code of its own; README.md describes the services
// and what to try.
//
//	load ──▶ kafka ◀──▶ weir-a, weir-b ◀── SIGKILL
//	  └────▶ dynamodb: eu-west-1, us-east-1, us-west-2 ──▶ streams
//
// The test asserts:
//
//  1. All services become healthy from empty volumes, and the services that run once end with 0.
//  2. An event is counted once, whichever process is asked, before and after one process is
//     killed.
//  3. A key has one lease, and its resource is free again after its end, before and after the
//     kill.
//  4. Both processes have partitions of every application: bridge, cores, executors and spend
//     counter. After the kill the other process has all of them. No container was killed for its
//     memory.
//
// Tests of cmd/weir/internal/node check without containers that rules and dashboard name existing
// metrics, and that the files agree with each other. No test starts Prometheus or Grafana.
package compose
