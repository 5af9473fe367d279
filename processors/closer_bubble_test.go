//go:build synctests

package processors

import (
	"errors"
	"sync"
	"testing"

	"github.com/weirhq/weir/stream"
)

// register is every handler that a run made.
type register struct {
	mu   sync.Mutex
	made []*closable
}

// closable is a ledger that is open until Close, and wants nothing of anybody after it.
type closable struct {
	*timedLedger
	of     *register
	closed int
	late   []string // what was called after Close
}

func (r *register) core(t stream.Task) (stream.Handler, error) {
	h, err := newTimedLedger(t)
	if err != nil {
		return nil, err
	}
	c := &closable{timedLedger: h.(*timedLedger), of: r}
	r.mu.Lock()
	r.made = append(r.made, c)
	n := len(r.made)
	r.mu.Unlock()
	if n%7 == 3 {
		c.Close() // nobody else can: the runtime never had it
		return nil, errors.New("not this one")
	}
	return c, nil
}

func (c *closable) called(what string) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.closed > 0 {
		c.late = append(c.late, what)
	}
}

func (c *closable) Close() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.closed++
}

func (c *closable) Fold(b *stream.Batch) error    { c.called("Fold"); return c.timedLedger.Fold(b) }
func (c *closable) Rebuild(b *stream.Batch) error { c.called("Warm"); return c.timedLedger.Rebuild(b) }

func (c *closable) Flush(at stream.Commit, ch *stream.Changes) error {
	c.called("Flush")
	return c.timedLedger.Flush(at, ch)
}

func (c *closable) OnTimer(nowMs int64, due []stream.Timer) error {
	c.called("Fire")
	return c.timedLedger.OnTimer(nowMs, due)
}

// Whatever ends a handler, kills at every edge, aborts, poison, rebalances, failed takeovers, standbys that only look, and the
// stop: it is closed once, and nothing is called after it.
func TestEveryHandlerIsClosedOnce(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		r := &register{}
		if verdict, _, _ := runBubble(t, 900+seed, mutation{core: r.core}); verdict != nil {
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
