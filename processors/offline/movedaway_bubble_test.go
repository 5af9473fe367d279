//go:build synctests

package offline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// away starts the source, and reports whether it ends because its state was moved away.
func (m *wideMove) away() bool {
	m.t.Helper()
	check := kafkaadmin.CheckMove(context.Background(), m.Kafka(), m.from)
	p := m.StartWith("a", processors.Config{Workers: 2}, m.from)
	m.WaitFor("the source runs or ends", time.Minute, func() bool { return p.Ended() || running(p.Runtime()) == 3 })
	if !p.Ended() {
		p.Stop()
		if check != nil {
			m.t.Errorf("the source runs, and CheckMove returns %v", check)
		}
		return false
	}
	if err := p.Await(); !errors.Is(err, processors.ErrMovedAway) {
		m.t.Fatalf("the source ended with %v", err)
	}
	if !errors.Is(check, processors.ErrMovedAway) {
		m.t.Errorf("the source does not run, and CheckMove returns %v", check)
	}
	return true
}

// foreign checks that an application whose state was not moved to the target can neither undo the
// move to it nor move its own state there.
func (m *wideMove) foreign() {
	m.t.Helper()
	other, ctx := m.from, context.Background()
	other.App, other.Changelog, other.Inputs = "other", "log-other", []string{"in2"}
	if _, err := kadm.NewClient(m.Client()).CreateTopics(ctx, 3, 1, nil, "log-other", "other.dlq"); err != nil {
		m.t.Fatal(err)
	}
	if err := UndoRepartition(ctx, m.config(m.Disk("a")), other, m.to); !errors.Is(err, ErrNotEmpty) {
		m.t.Errorf("another application undoes the move: %v", err)
	}
	if _, err := Repartition(ctx, m.config(m.Disk("a")), other, m.to, m.how); !errors.Is(err, ErrNotEmpty) {
		m.t.Errorf("another application moves to the same target: %v", err)
	}
	if complete, incomplete := m.markers(); complete != 6 || incomplete != 0 {
		m.t.Errorf("%d partitions are complete, %d are not", complete, incomplete)
	}
}

// TestMovedAway: after a complete move the source does not run again by mistake, also a partition
// that had no state. After the move was undone it does, and the target does not.
func TestMovedAway(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		m := newWideMove(w)
		w.Produce("in", 0, "k3", "1", "2", "3")
		p := w.StartWith("a", processors.Config{Workers: 1}, m.from)
		w.WaitFor("the records are folded", time.Minute, folded(p, 3))
		p.Stop()
		if m.away() {
			t.Fatal("before the move")
		}
		if err := m.undo(nil); !errors.Is(err, ErrNothingToUndo) || !strings.HasPrefix(err.Error(), "undo the repartition of ledger to wide: ") {
			t.Errorf("before the move it is undone: %v", err)
		}
		if _, err := m.move(nil); err != nil {
			t.Fatal(err)
		}
		m.foreign()
		if !m.away() {
			t.Fatal("the source runs after the move")
		}
		if got, err := m.move(nil); err != nil || got.Written != 0 {
			t.Errorf("the same move again: %+v, %v", got, err)
		}
		if err := m.undo(nil); err != nil {
			t.Fatal(err)
		}
		m.refused("after the move was undone")
		if m.away() {
			t.Fatal("after the move was undone")
		}
		w.Produce("in", 1, "k3", "4")
		p = w.StartWith("a", processors.Config{Workers: 1}, m.from)
		w.WaitFor("the record is folded", time.Minute, folded(p, 4))
		p.Stop()
		if _, err := m.move(nil); err != nil {
			t.Fatal(err)
		}
		m.exact()
		if err := m.undo(nil); !errors.Is(err, ErrNotEmpty) {
			t.Errorf("a move whose target has run is undone: %v", err)
		}
		if !m.away() {
			t.Error("the source runs beside the target")
		}
	})
}

// TestUndoKilled: an undo is killed at one of its steps. At no time both applications start. The
// next undo completes it.
func TestUndoKilled(t *testing.T) {
	const steps = 2 * (2 + 2 + 1) // barriers of both, markers of both, barriers behind those of the target
	for at := 1; at <= steps; at++ {
		runLedger(t, 3, func(t *testing.T, w *fixture) {
			m := newWideMove(w)
			w.grow(m.from, 0, 60)
			if _, err := m.move(nil); err != nil {
				t.Fatal(err)
			}
			if err := m.undo(killedAt(at)); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // until the session of the killed member expires
			complete, _ := m.markers()
			if away := m.away(); complete > 0 && !away {
				t.Errorf("killed at step %d: both applications start", at)
			}
			if err := m.undo(nil); err != nil {
				t.Fatal(err)
			}
			m.refused("after the undo")
			if m.away() {
				t.Errorf("killed at step %d: the source does not run after the undo", at)
			}
			if _, err := m.move(nil); err != nil {
				t.Fatal(err)
			}
			m.exact()
		})
	}
}
