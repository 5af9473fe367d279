package main

import (
	"os/exec"

	"github.com/weirhq/weir/processors"
)

// benchEnv is what the benchmarks run on.
type benchEnv struct {
	kafka  processors.Kafka
	memory int64 // bytes, of a process
	// runtime gives the configuration of a processor that has so many bytes of memory.
	runtime func(memory int64) processors.Config
	// notef reports progress.
	notef func(format string, args ...any)
	// process makes the command that runs benchMember with these flags. It is not started.
	process func(flags ...string) (*exec.Cmd, error)
}

// config is the configuration of a processor that has all of the memory.
func (e *benchEnv) config() processors.Config {
	c := e.runtime(e.memory)
	c.Kafka = e.kafka
	return c
}

// with is the same environment with another budget of memory.
func (e *benchEnv) with(memory int64) *benchEnv {
	other := *e
	other.memory = memory
	return &other
}
