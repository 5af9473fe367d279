//go:build synctests

package offline

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/internal/ledger"
)

// addPartitions gives a topic n partitions, as an administrator does.
func (w *fixture) addPartitions(topic string, n int) {
	w.t.Helper()
	got, err := kadm.NewClient(w.Client()).UpdatePartitions(context.Background(), n, topic)
	if err = errors.Join(err, got[topic].Err); err != nil {
		w.t.Fatal(err)
	}
	time.Sleep(10 * time.Minute) // until the clients have read the metadata again
}

// TestOfflineAddedPartitions: an administrator has added partitions to the input and to the
// dead-letter topic. Offline work goes by the number of the processor, as the runtime does.
func TestOfflineAddedPartitions(t *testing.T) {
	t.Run("repartition", func(t *testing.T) {
		runLedger(t, 3, func(t *testing.T, w *fixture) {
			m := newWideMove(w)
			m.from.Partitions, m.to.Partitions = 3, 6
			w.grow(m.from, 0, 60)
			for topic, n := range map[string]int{"in": 5, ledger.App + ".dlq": 4, "in6": 8} {
				w.addPartitions(topic, n)
			}
			w.Produce("in", 4, "k3", "1")
			if _, err := m.move(nil); !errors.Is(err, ErrAdded) || errors.Is(err, ErrUnread) {
				t.Errorf("a move with a record in an added partition: %v", err)
			}
			w.DeleteRecords("in", 4, 1)
			if _, err := m.move(nil); err != nil {
				t.Fatal(err)
			}
			m.exact()
		})
	})
	t.Run("savepoint and promotion", func(t *testing.T) {
		runLedger(t, 3, func(t *testing.T, w *fixture) {
			bad, good := ledger.Processor("in"), ledger.Processor("in")
			bad.New, bad.Partitions, good.Partitions = newWrongSums, 3, 3
			_, flowing := w.grow(bad, 0, 60)
			w.addPartitions("in", 5)
			ctx, s := context.Background(), w.replay(w.Disk("a"), good, "fixed")
			if err := s.Prepare(ctx, ReplayStart{Savepoint: "rest60"}); err != nil {
				t.Fatalf("from a savepoint: %v", err)
			}
			if err := s.Run(ctx, flowing.Positions(), nil); err != nil {
				t.Fatal(err)
			}
			s = w.replay(w.Disk("a"), good, "again")
			if err := s.Prepare(ctx, ReplayStart{}); err != nil {
				t.Fatalf("from the beginning: %v", err)
			}
			if list, err := s.Promote(ctx, Promotion{Commit: true}); err != nil || len(list) == 0 {
				t.Fatalf("the promotion: %v, %v", list, err)
			}
			if got := w.logTotals(); got["k3"] != 36 {
				t.Errorf("the promoted sums are %v", got)
			}
		})
	})
}
