// Package broker measures processors on real brokers: the exactly-once count beside a bare consumer
// of the same topic, growth, scaling, latency, restarts and restores, and job queues.
//
//	Load ──▶ topic ──▶ BareConsumer: poll and count, read_committed, in a group   ──▶ events/s
//	               └─▶ Fold: the processor, exactly once, into an empty store     ──▶ events/s
//
//	submitters ─▶ HTTP ─▶ jobServer: JobService and processor ◀─ HTTP ◀─ agents   ──▶ jobs/s
//
// The first quarter of each run is not timed, because connections, caches and the commit interval
// settle in that time. Before the first round the bare consumer reads the topic until the broker is
// warm. The package returns figures and their goals; it does not fail if a goal is missed.
package broker
