//go:build synctests

package processors_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// slow is a sum whose folds take a time for each record.
type slow struct {
	*sum
	perRecord time.Duration
}

func (h *slow) Fold(b *stream.Batch) error {
	time.Sleep(time.Duration(len(b.Records)) * h.perRecord)
	return h.sum.Fold(b)
}

// TestSlowFold: the fold of one poll takes longer than the transaction timeout and the rebalance
// timeout. Brokers know of a transaction from its first record on, and a worker produces after all
// folds. So the transaction timeout does not run during a fold, and no record is folded twice. A
// rebalance during the fold takes the partitions away once: their next owner folds without one.
func TestSlowFold(t *testing.T) {
	for name, tc := range map[string]struct {
		joins bool
		limit time.Duration
	}{
		"alone":                    {false, 50 * time.Second}, // 4,000 records of 10 ms, and a start
		"another process joins it": {true, 4 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			o := summing()
			o.Config.Workers, o.Config.PollRecords = 1, 4000
			o.NoRefold = true // the undisturbed handler would sleep, too
			sums := o.Processor.New
			o.Processor.New = func(task stream.Task) (stream.Handler, error) {
				h, err := sums(task)
				inner, ok := h.(*sum)
				if !ok {
					t.Errorf("the handler is a %T", h)
				}
				return &slow{inner, 10 * time.Millisecond}, err
			}
			processorstest.Run(t, o, func(t *testing.T, w *processorstest.Harness) {
				f := &feed{w: w}
				f.give(1000)
				began := time.Now()
				w.Start("a")
				if tc.joins {
					time.Sleep(10 * time.Second)
					w.Start("b")
				}
				f.exact(t)
				took := time.Since(began)
				if took > tc.limit {
					t.Errorf("caught up after %s, want %s", took, tc.limit)
				}
				t.Logf("caught up after %s", took)
			})
		})
	}
}
