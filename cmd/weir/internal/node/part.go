package node

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/processors"
)

// Part is a role in a process. It runs once. A part may also implement advertiser, background and
// closer.
type Part interface {
	// Run works until ctx ends, and returns after all goroutines of the part.
	Run(ctx context.Context) error
	// Ready returns the number of partitions that the process has of the role, and the reasons why
	// the role cannot serve yet. No reason: it can.
	Ready(ctx context.Context) (partitions int, reasons []string)
}

// advertiser is a Part that sends the address of this process's API to other processes. Advertise
// is called once, before Run.
type advertiser interface {
	Advertise(endpoint string)
}

// background is a Part with work that begins before all parts of the process run and ends after
// all of them. stop blocks until the work has ended.
type background interface {
	Background(ctx context.Context) (stop func())
}

// closer is a Part that holds connections. Close is called once, after everything else has ended.
type closer interface {
	Close()
}

// processorPart is a role with one runtime.
type processorPart struct {
	runtime *processors.Runtime
}

// Run implements Part.
func (p processorPart) Run(ctx context.Context) error { return p.runtime.Run(ctx) }

// Ready implements Part.
func (p processorPart) Ready(context.Context) (partitions int, reasons []string) {
	if d, cut := p.runtime.BrokerIdle(); cut {
		reasons = append(reasons, fmt.Sprintf("no broker has answered for %s", d.Round(time.Second)))
	}
	tasks := p.runtime.Status()
	if len(tasks) == 0 {
		reasons = append(reasons, p.runtime.App()+" has no partition assigned yet")
	}
	for _, t := range tasks {
		if t.State != "running" && t.State != "standby" {
			reasons = append(reasons, fmt.Sprintf("%s partition %d is %s %s", t.App, t.Partition, t.State, t.Reason))
		}
	}
	return len(tasks), reasons
}
