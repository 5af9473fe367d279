//go:build synctests

package processors_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/stream"
)

// handlerRegister lists every handler that a run made.
type handlerRegister struct {
	mu   sync.Mutex
	made []*closable
}

// closable is a ledger with Close. It records the calls after Close.
type closable struct {
	*ledger.TimedHandler
	register *handlerRegister
	closed   int
	late     []string
}

func (r *handlerRegister) make(t stream.Task) (stream.Handler, error) {
	h, err := ledger.NewTimed(t)
	if err != nil {
		return nil, err
	}
	c := &closable{TimedHandler: h.(*ledger.TimedHandler), register: r}
	r.mu.Lock()
	r.made = append(r.made, c)
	n := len(r.made)
	r.mu.Unlock()
	if n%7 == 3 {
		c.Close() // the runtime never gets it
		return nil, errors.New("injected")
	}
	return c, nil
}

func (c *closable) called(what string) {
	c.register.mu.Lock()
	defer c.register.mu.Unlock()
	if c.closed > 0 {
		c.late = append(c.late, what)
	}
}

func (c *closable) Close() {
	c.register.mu.Lock()
	defer c.register.mu.Unlock()
	c.closed++
}

func (c *closable) Fold(b *stream.Batch) error { c.called("Fold"); return c.TimedHandler.Fold(b) }

func (c *closable) Rebuild(b *stream.Batch) error {
	c.called("Rebuild")
	return c.TimedHandler.Rebuild(b)
}

func (c *closable) Flush(at stream.Commit, ch *stream.Changes) error {
	c.called("Flush")
	return c.TimedHandler.Flush(at, ch)
}

func (c *closable) OnTimer(nowMs int64, due []stream.Timer) error {
	c.called("OnTimer")
	return c.TimedHandler.OnTimer(nowMs, due)
}

// TestEveryHandlerIsClosedOnce: whatever ends a handler, it is closed once, and none of its methods
// is called afterwards. Handlers end by kills at every failpoint, aborts, poison records,
// rebalances, failed takeovers, refreshes of standbys, and the stop.
func TestEveryHandlerIsClosedOnce(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		r := &handlerRegister{}
		if verdict, _ := runCrashes(t, 900+seed, mutation{handler: r.make, noRefold: true}); verdict != nil {
			t.Errorf("seed %d: %v", seed, verdict)
		}
		open, twice, late := 0, 0, []string(nil)
		for _, c := range r.made {
			switch c.closed {
			case 0:
				open++
			case 1:
			default:
				twice++
			}
			late = append(late, c.late...)
		}
		if t.Logf("seed %d: %d handlers", seed, len(r.made)); open+twice+len(late) > 0 || len(r.made) < 8 {
			t.Errorf("seed %d: of %d handlers %d were never closed, %d more than once, and after it came %q", seed, len(r.made), open, twice, late)
		}
	}
}
