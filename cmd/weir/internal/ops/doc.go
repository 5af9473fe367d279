// Package ops has the commands for the operation of weir: run, ready, config, doctor, tls, version
// and bench.
package ops
