// Package metrics shows the figures of cores as Prometheus metrics. A core is pure and knows no registry: Meter wraps the handlers
// of a processor, reads the core's Stats after each Flush, and removes a partition's series when its handler is closed.
//
//	stream.Processor ──Meter──▶ stream.Processor ──▶ processors.New
//	                     │
//	                     └──▶ prometheus.Registerer
package metrics
