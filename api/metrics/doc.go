// Package metrics publishes the figures of the cores as Prometheus metrics: weir_spendcounter_*,
// weir_liberator_*, weir_dedup_*, weir_balancer_* and weir_jobqueue_*. A core is pure and knows no
// registry. Meter wraps the handlers of a processor and reads the Stats of the core at each Flush;
// JobQueues reads what the shards of job queues show, when it is scraped.
//
//	stream.Processor ──Meter──▶ stream.Processor ──▶ processors.New
//	                     │
//	                     └──▶ prometheus.Registerer
//
// # Gauges
//
// A gauge describes the state of one partition at its last Flush, and has the label partition. Its
// series is removed when the handler is closed, so that the sum over all processes counts each
// partition once.
//
// # Counters and histograms
//
// Counters and histograms have no label partition. They describe what the handlers of this process
// did since the process started, and never fall. A handler counts from zero, or from the restored
// total if the total is part of the state. The counter grows only by what the handler adds. So a
// takeover changes no counter, and the sum of the increases over all processes is the work of the
// application. The work of a transaction that Kafka aborts after Flush is repeated and counted
// again, as in weir_processor_records_total.
package metrics
