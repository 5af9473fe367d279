package broker

import (
	"os/exec"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// Env is the environment of the benchmarks.
type Env struct {
	Kafka  kafka.Cluster
	Memory int64 // memory of a process, in bytes
	// Runtime returns the configuration of a processor with this many bytes of memory.
	Runtime func(memory int64) processors.Config
	// Jobs returns that of the job queues.
	Jobs func(memory int64) processors.Config
	// Notef reports progress.
	Notef func(format string, args ...any)
	// Process returns the command that runs a Member with these flags. It does not start it.
	Process func(flags ...string) (*exec.Cmd, error)
}

// config returns the configuration of a processor that uses all of the memory.
func (e *Env) config() processors.Config {
	c := e.Runtime(e.Memory)
	c.Kafka = e.Kafka
	return c
}

// With returns the same environment with another memory budget.
func (e *Env) With(memory int64) *Env {
	other := *e
	other.Memory = memory
	return &other
}
