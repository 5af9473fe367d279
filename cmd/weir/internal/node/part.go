package node

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/processors"
)

// Part is a role in a process. It runs once. A part may also implement advertiser, background and
// closer.
type Part interface {
	// Run works until ctx ends, and returns after all goroutines of the part.
	Run(ctx context.Context) error
	// Ready returns whether the role can serve.
	Ready(ctx context.Context) Readiness
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

// processorPart is a role with one runtime, whose application the API serves.
type processorPart struct {
	runtime *processors.Runtime
	state   *api.Router
	brokers *brokers
}

// Run implements Part.
func (p processorPart) Run(ctx context.Context) error {
	if err := p.brokers.await(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	return p.runtime.Run(ctx)
}

// Ready implements Part.
func (p processorPart) Ready(context.Context) Readiness { return local.RuntimeReadiness(p.runtime) }

// Advertise implements advertiser.
func (p processorPart) Advertise(endpoint string) { p.runtime.Advertise(endpoint) }

// Close implements closer.
func (p processorPart) Close() { p.state.Close() }
