//go:build synctests

package processors_test

import (
	"bytes"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// lockedBuffer collects a log. It is safe for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) count(text string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Count(b.text.String(), text)
}

// TestSlowAfterBarrier: what a takeover does behind its barrier is logged while it takes long, and
// not after its end.
func TestSlowAfterBarrier(t *testing.T) {
	out := &lockedBuffer{}
	log := zerolog.New(out)
	o := ledgerOptions(1)
	o.Config.Workers, o.Config.Log = 1, &log
	o.Processor.New = func(task stream.Task) (stream.Handler, error) {
		<-time.After(7 * time.Second)
		return ledger.New(task)
	}
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		p := h.Start("a")
		h.WaitFor("the process runs", time.Minute, func() bool { return p.Status(0).State == "running" })
		const slow = `"waits_for":"its handler, which reads the store and a part of its inputs","message":"takeover_slow"`
		n := out.count(slow)
		if n < 2 || n > 3 {
			t.Errorf("%d lines in 7 s", n)
		}
		<-time.After(10 * time.Second)
		if out.count(slow) != n {
			t.Error("a takeover that has ended is logged")
		}
	})
}
