//go:build synctests

package processors_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// probes makes handlers, after a delay, and counts how often each was closed.
type probes struct {
	delay time.Duration
	mu    sync.Mutex
	made  []*probe
}

type probe struct {
	of     *probes
	next   map[string]int64
	n      int // its number in made
	closed int
}

func (p *probes) new(t stream.Task) (stream.Handler, error) {
	<-time.After(p.delay)
	p.mu.Lock()
	defer p.mu.Unlock()
	h := &probe{of: p, next: t.Next, n: len(p.made)}
	p.made = append(p.made, h)
	return h, nil
}

func (h *probe) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		if string(r.Value) == "poison" {
			panic("poison")
		}
	}
	return nil
}

func (h *probe) Flush(stream.Commit, *stream.Changes) error { return nil }

func (h *probe) RebuildFrom() map[string]int64 {
	if h.n%3 == 0 {
		return map[string]int64{"in": 0}
	}
	return nil
}

func (h *probe) Rebuild(*stream.Batch) error { return errors.New("injected") }

func (h *probe) Close() {
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.closed++
}

// open returns the number of handlers that are not closed. A handler that was closed twice fails
// the test.
func (p *probes) open(t *testing.T) (n int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.made {
		if h.closed == 0 {
			n++
		}
		if h.closed > 1 {
			t.Errorf("handler %d was closed %d times", h.n, h.closed)
		}
	}
	return n
}

// TestUnusedHandlersAreClosed: a handler is closed when its partition is stopped, when it is made
// after its partition was revoked, and when it fails to rebuild.
func TestUnusedHandlersAreClosed(t *testing.T) {
	p := &probes{}
	o := processorstest.Options{NoRefold: true, Partitions: 4, Config: processors.Config{PoisonLimit: 1}, Processor: stream.Processor{
		App: "probe", Inputs: []string{"in"}, Changelog: "probe.log", New: p.new,
	}}
	processorstest.Run(t, o, func(t *testing.T, w *processorstest.Harness) {
		a := w.Start("a")
		w.CaughtUp()
		w.Produce("in", 0, "", "poison", "poison", "poison")
		<-time.After(20 * time.Second)
		if n := p.open(t); n != 3 {
			t.Errorf("%d handlers are open, 3 partitions run", n)
		}
		for partition := range int32(3) {
			w.Produce("in", partition+1, "", "good")
		}
		w.CaughtUp(0)
		p.delay = 8 * time.Second // longer than a rebalance takes
		b := w.Start("b")
		<-time.After(3 * time.Second)
		b.Kill()
		<-time.After(9 * time.Second) // process a makes handlers for the partitions of b
		c := w.Start("c")
		<-time.After(12 * time.Second)
		for _, x := range []*processorstest.Process{a, c} {
			x.Stop()
		}
		if n := p.open(t); n != 0 || len(p.made) < 8 {
			t.Errorf("%d of %d handlers are open after the end", n, len(p.made))
		}
	})
}
