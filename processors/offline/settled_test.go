//go:build synctests

package offline

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/stream"
)

// mover is the ledger, and each of its transactions moves 1 from the sum of "k" to that of "moved".
type mover struct{ *ledger.Handler }

func (m mover) Flush(c stream.Commit, ch *stream.Changes) error {
	if err := errors.Join(m.Load("k"), m.Load("moved")); err != nil {
		return err
	}
	if m.Sums["k"] > 0 {
		m.Sums["k"]--
		m.Sums["moved"]++
		m.Changed["k"], m.Changed["moved"] = true, true
	}
	return m.Handler.Flush(c, ch)
}

// movingProcessor is settled when nothing is left to move.
func movingProcessor() stream.Processor {
	p := ledger.Processor("in")
	p.New = func(t stream.Task) (stream.Handler, error) {
		h, err := ledger.New(t)
		return mover{h.(*ledger.Handler)}, err
	}
	p.Settled = func(get stream.Get) (bool, error) {
		v, err := get(ledger.Table, []byte("k"))
		if err != nil || v == nil {
			return true, err
		}
		n, err := ledger.Decode(string(v))
		return n == 0, err
	}
	return p
}

// TestReplayWaitsUntilSettled: a replay continues at its end until its state is settled. It is not
// compared with a savepoint of a state that is not, where it would differ, and is not promoted to
// such a state.
func TestReplayWaitsUntilSettled(t *testing.T) {
	runLedger(t, 2, func(t *testing.T, w *fixture) {
		fs, ctx, proc := w.Disk("a"), context.Background(), movingProcessor()
		w.Produce("in", 0, "k", "9")
		w.Produce("in", 1, "other", "9")
		p := w.StartWith("a", processors.Config{Workers: 1}, proc)
		w.WaitFor("the records are folded", time.Minute, folded(p, 2))
		early, err := TakeSavepoint(ctx, p.Runtime(), "early")
		if err != nil {
			t.Fatal(err)
		}
		if got := early.Unsettled(); !slices.Equal(got, []int32{0}) {
			t.Fatalf("partitions %v are not settled, want 0", got)
		}
		w.WaitFor("all is moved", time.Minute, func() bool { return w.sum(p, 0, "moved") == 9 })
		late, err := TakeSavepoint(ctx, p.Runtime(), "late")
		if err != nil {
			t.Fatal(err)
		}
		if got := late.Unsettled(); got != nil {
			t.Fatalf("partitions %v are not settled", got)
		}
		stored, err := w.savepoints(fs, proc).Get("early")
		if err != nil || !slices.Equal(stored.Unsettled(), []int32{0}) {
			t.Fatalf("the description of the savepoint: %+v, %v", stored, err)
		}

		s := w.replay(fs, proc, "again")
		if err := s.Prepare(ctx, ReplayStart{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Run(ctx, early.Positions(), nil); err != nil {
			t.Fatal(err)
		}
		for _, sp := range []*Savepoint{early, late} {
			list, err := s.Compare(ctx, sp)
			if err != nil || len(list) != len(sp.Partitions)-len(sp.Unsettled()) {
				t.Fatalf("%d comparisons with %s, %v", len(list), sp.Name, err)
			}
			for _, c := range list {
				if !c.Equal() {
					t.Errorf("partition %d differs from %s", c.Partition, sp.Name)
				}
			}
		}
		early.Partitions[0].Unsettled = false
		if list, err := s.Compare(ctx, early); err != nil || list[0].Equal() {
			t.Errorf("compared with a state that is not settled: %+v, %v", list, err)
		}

		w.Produce("in", 0, "k", "50")
		w.WaitFor("the record is folded", time.Minute, folded(p, 3))
		p.Stop()
		if _, err := s.Promote(ctx, Promotion{Commit: true}); !errors.Is(err, ErrUnsettled) {
			t.Errorf("promoted to a state that is not settled: %v", err)
		}
	})
}
