// Package ops has the commands that run, check and measure weir: run, ready, config, doctor,
// partition, tls, version and bench.
package ops
