package broker

import (
	"os/exec"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// Env is what the benchmarks run on.
type Env struct {
	Kafka  kafka.Cluster
	Memory int64 // bytes, of a process
	// Runtime gives the configuration of a processor that has so many bytes of memory.
	Runtime func(memory int64) processors.Config
	// Notef reports progress.
	Notef func(format string, args ...any)
	// Process makes the command that runs benchMember with these flags. It is not started.
	Process func(flags ...string) (*exec.Cmd, error)
}

// config is the configuration of a processor that has all of the memory.
func (e *Env) config() processors.Config {
	c := e.Runtime(e.Memory)
	c.Kafka = e.Kafka
	return c
}

// With is the same environment with another budget of memory.
func (e *Env) With(memory int64) *Env {
	other := *e
	other.Memory = memory
	return &other
}
