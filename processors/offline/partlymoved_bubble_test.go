//go:build synctests

package offline

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// wideMove is a move of the ledger with 3 partitions to "wide" with 6.
type wideMove struct {
	*fixture
	from, to stream.Processor
	how      Repartitioning
}

// newWideMove creates the topics of the target.
func newWideMove(w *fixture) *wideMove {
	w.t.Helper()
	m := &wideMove{fixture: w, from: ledger.Processor("in")}
	m.to = m.from
	m.to.App, m.to.Inputs, m.to.Changelog, m.to.Outputs = "wide", []string{"in6"}, "log6", []stream.Output{{Name: "out", Topic: "out6"}}
	if _, err := kadm.NewClient(w.Client()).CreateTopics(context.Background(), 6, 1, nil, "in6", "log6", "out6", "wide.dlq"); err != nil {
		w.t.Fatal(err)
	}
	m.how = Repartitioning{
		Partition: func(_ byte, key, _ []byte) (int32, error) { return widePartition(string(key)), nil },
		Merge: func(_ byte, _, one, other []byte) ([]byte, error) {
			return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(one)+binary.BigEndian.Uint64(other)), nil
		},
	}
	return m
}

// widePartition returns the partition of a key in the target.
func widePartition(key string) int32 { return int32(crc32.ChecksumIEEE([]byte(key)) % 6) }

// move moves the state. step is called at the failpoints of offline work; it may be nil.
func (m *wideMove) move(step func() error) (RepartitionResult, error) {
	ctx := context.Background()
	if step != nil {
		ctx = stepping(ctx, step)
	}
	return Repartition(ctx, m.config(m.Disk("a")), m.from, m.to, m.how)
}

// undo undoes the move. step is as in move.
func (m *wideMove) undo(step func() error) error {
	ctx := context.Background()
	if step != nil {
		ctx = stepping(ctx, step)
	}
	return UndoRepartition(ctx, m.config(m.Disk("a")), m.from, m.to)
}

// start starts the target, and waits until it has all partitions or has ended.
func (m *wideMove) start() *processorstest.Process {
	m.t.Helper()
	p := m.StartWith("b", processors.Config{Workers: 2, FormerChangelogs: []string{"log"}}, m.to)
	m.WaitFor("the target runs or ends", time.Minute, func() bool { return p.Ended() || running(p.Runtime()) == 6 })
	return p
}

// refused checks that the target does not start, because its state is not complete.
func (m *wideMove) refused(when string) {
	m.t.Helper()
	if err := m.check(); !errors.Is(err, processors.ErrPartlyMoved) && !errors.Is(err, processors.ErrNotMoved) {
		m.t.Errorf("%s: CheckMove returns %v", when, err)
	}
	p := m.start()
	if !p.Ended() {
		p.Stop()
		m.t.Fatalf("%s: the target runs", when)
	}
	if err := p.Await(); !errors.Is(err, processors.ErrPartlyMoved) {
		m.t.Fatalf("%s: the target ended with %v", when, err)
	}
}

// check is what an operator learns of the move without a start.
func (m *wideMove) check() error {
	return kafkaadmin.CheckMove(context.Background(), m.Kafka(), m.to, "log")
}

// exact checks that the target starts, counts one more record, and has the sums of the source.
func (m *wideMove) exact() {
	m.t.Helper()
	if err := m.check(); err != nil {
		m.t.Error(err)
	}
	p := m.start()
	if p.Ended() {
		m.t.Fatalf("the target of a complete move: %v", p.Await())
	}
	at := widePartition("k3")
	cl := m.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: "in6", Partition: at, Key: []byte("k3"), Value: []byte("1")}).FirstErr(); err != nil {
		m.t.Fatal(err)
	}
	m.WaitFor("the record is folded", time.Minute, func() bool { return p.Status(at).Next["in6"] == 1 })
	want, got := m.logTotals(), map[string]int64{}
	want["k3"]++
	for k := range want {
		got[k] = m.sum(p, widePartition(k), k)
	}
	if p.Stop(); !maps.Equal(got, want) {
		m.t.Errorf("the sums of the target are %v, want %v", got, want)
	}
	if _, incomplete := m.markers(); incomplete > 0 {
		m.t.Errorf("%d partitions are incomplete", incomplete)
	}
}

// markers counts the partitions of the target by what their last marker states. It checks that the
// transactions of each partition are numbered without a gap.
func (m *wideMove) markers() (complete, incomplete int) {
	m.t.Helper()
	last := map[int32]*changelogpb.Marker{}
	for _, r := range m.Records("log6") {
		marker, err := changelogpb.DecodeMarker(r.Key, r.Value)
		if err != nil {
			m.t.Fatal(err)
		}
		if marker == nil {
			continue
		}
		if was := last[r.Partition].GetSequence(); marker.GetSequence() != was+1 {
			m.t.Errorf("partition %d: transaction %d follows transaction %d", r.Partition, marker.GetSequence(), was)
		}
		last[r.Partition] = marker
	}
	for _, marker := range last {
		switch marker.GetMove() {
		case changelogpb.Move_MOVE_COMPLETE:
			complete++
		case changelogpb.Move_MOVE_INCOMPLETE:
			incomplete++
		case changelogpb.Move_MOVE_UNSPECIFIED:
		}
	}
	return complete, incomplete
}

var errKilled = errors.New("killed")

// killedAt returns a step that fails at its n-th call.
func killedAt(n int) func() error {
	return func() error {
		if n--; n == 0 {
			return errKilled
		}
		return nil
	}
}

// TestPartlyMoved: a move is killed at one of its steps. The target does not start. The next move
// completes it, and then the target has the sums of the source.
func TestPartlyMoved(t *testing.T) {
	// Two steps for each transaction: barriers of both, first markers, 6 partitions, last markers
	// of the source and the barriers behind them, last markers.
	const steps = 2 * (2 + 1 + 6 + 2 + 1)
	for at := 1; at <= steps; at++ {
		t.Run(fmt.Sprintf("step %d", at), func(t *testing.T) {
			runLedger(t, 3, func(t *testing.T, w *fixture) {
				m := newWideMove(w)
				w.grow(m.from, 0, 60)
				if _, err := m.move(killedAt(at)); !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Second) // until the session of the killed member expires
				if at < steps {
					m.refused("after the kill")
				}
				if _, err := m.move(nil); err != nil {
					t.Fatal(err)
				}
				m.exact()
			})
		})
	}
}

// TestMovedAgain: a complete move is undone, the source runs again, and the move is repeated. It is
// killed at each of its steps in turn. Until it is complete the target does not start.
func TestMovedAgain(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		m := newWideMove(w)
		w.grow(m.from, 0, 60)
		if _, err := m.move(nil); err != nil {
			t.Fatal(err)
		}
		if err := m.undo(nil); err != nil {
			t.Fatal(err)
		}
		w.grow(m.from, 360, 60)
		withdrawn := 0
		for at := 1; ; at++ {
			_, err := m.move(killedAt(at))
			if err == nil {
				break
			}
			if !errors.Is(err, errKilled) || at > 60 {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // until the session of the killed member expires
			if complete, incomplete := m.markers(); complete != 6 {
				withdrawn++
				if incomplete != 6 {
					t.Errorf("killed at step %d: %d partitions are complete, %d are not", at, complete, incomplete)
				}
				m.refused(fmt.Sprintf("killed at step %d", at))
			}
		}
		if withdrawn < 6 {
			t.Errorf("the state was incomplete after %d kills only", withdrawn)
		}
		m.exact()
	})
}

// TestStartDuringUndo: a process of the target starts while a complete move is undone. It waits for
// the group until then, and ends.
func TestStartDuringUndo(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		m := newWideMove(w)
		w.grow(m.from, 0, 60)
		if _, err := m.move(nil); err != nil {
			t.Fatal(err)
		}
		var p *processorstest.Process
		if err := m.undo(func() error {
			if p == nil {
				p = w.StartWith("b", processors.Config{Workers: 2, FormerChangelogs: []string{"log"}}, m.to)
				time.Sleep(time.Second)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := p.Await(); !errors.Is(err, processors.ErrPartlyMoved) {
			t.Errorf("the process that waited ended with %v", err)
		}
		if _, err := m.move(nil); err != nil {
			t.Fatal(err)
		}
		m.exact()
	})
}

// TestUnreadDuringMove: records arrive at the source after the move has read its state. The move
// fails, and the target does not start. After the source has counted them, the repeated move is
// exact.
func TestUnreadDuringMove(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		m := newWideMove(w)
		w.grow(m.from, 0, 60)
		n := 0
		_, err := m.move(func() error {
			if n++; n == 8 { // some partitions are written
				w.fill(3, 6)
			}
			return nil
		})
		if !errors.Is(err, ErrUnread) {
			t.Fatalf("a move during which records arrive: %v after %d steps", err, n)
		}
		m.refused("after the records")
		p := w.StartWith("a", processors.Config{Workers: 1}, m.from)
		w.WaitFor("the source counts the records", time.Minute, folded(p, 366))
		p.Stop()
		m.refused("after the source has counted them")
		if _, err := m.move(nil); err != nil {
			t.Fatal(err)
		}
		m.exact()
	})
}

// TestMoveFromPartlyMoved: a state that is not complete, or that was not moved at all, is not moved
// on and not corrected.
func TestMoveFromPartlyMoved(t *testing.T) {
	runLedger(t, 3, func(t *testing.T, w *fixture) {
		m := newWideMove(w)
		w.grow(m.from, 0, 60)
		next := m.to
		next.App, next.Inputs, next.Changelog = "next", []string{"in"}, "lognext"
		if _, err := kadm.NewClient(w.Client()).CreateTopics(context.Background(), 3, 1, nil, "lognext", "next.dlq"); err != nil {
			t.Fatal(err)
		}
		cfg := m.config(w.Disk("a"))
		cfg.FormerChangelogs = []string{"log"}
		for _, steps := range []int{1, 9} {
			if _, err := Repartition(context.Background(), cfg, m.to, next, m.how); !errors.Is(err, processors.ErrPartlyMoved) {
				t.Errorf("before a move that is killed at step %d: the next move: %v", steps, err)
			}
			if _, err := m.move(killedAt(steps)); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second) // until the session of the killed member expires
		}
		if _, err := Repartition(context.Background(), cfg, m.to, next, m.how); !errors.Is(err, processors.ErrPartlyMoved) {
			t.Errorf("a move of an incomplete state: %v", err)
		}
		s := w.replay(w.Disk("a"), m.to, "again")
		if err := s.Prepare(context.Background(), ReplayStart{}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Promote(context.Background(), Promotion{Commit: true}); !errors.Is(err, processors.ErrPartlyMoved) {
			t.Errorf("a promotion to an incomplete state: %v", err)
		}
	})
}
