//go:build synctests

package processors_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// rows keeps the value of each record under the record's key, and deletes the key of a record
// without a value.
type rows struct{ changes []stream.Record }

func (r *rows) Fold(b *stream.Batch) error {
	for _, rec := range b.Records {
		r.changes = append(r.changes, stream.Record{Key: bytes.Clone(rec.Key), Value: bytes.Clone(rec.Value)})
	}
	return nil
}

func (r *rows) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, c := range r.changes {
		if len(c.Value) == 0 {
			ch.Delete(1, c.Key)
		} else {
			ch.Put(1, c.Key, c.Value)
		}
	}
	r.changes = nil
	return nil
}

// TestKilledWhileRestoring: a process without a store is killed again and again while it restores
// 15 MB, and each crash leaves a part of what was not synced. In the end the store has the rows of
// the changelog, and no others.
func TestKilledWhileRestoring(t *testing.T) {
	o := processorstest.Options{Processor: stream.Processor{
		App: "rows", Inputs: []string{"in"}, Changelog: "log", New: func(stream.Task) (stream.Handler, error) { return &rows{}, nil },
	}}
	o.Config.FetchBytes = 1 << 20
	processorstest.Run(t, o, func(t *testing.T, w *processorstest.Harness) {
		a, rng := w.Start("a"), rand.NewChaCha8([32]byte{1})
		var want [parts]map[string]string
		for p := range want {
			want[p] = map[string]string{}
			for i := range 2_000 {
				key, value := fmt.Sprint("key", i%700), random(rng, 2_000)
				if i%9 == 8 {
					value = ""
					delete(want[p], key)
				} else {
					want[p][key] = value
				}
				w.Produce("in", int32(p), key, value)
			}
		}
		w.CaughtUp()
		a.Kill()
		kills := 0
		for _, left := range []int64{1_900, 1_700, 1_500, 1_300, 1_100, 900, 700, 500} {
			b := w.Start("b")
			if !killRestoring(t, b, left) {
				b.Stop() // the last fetch had all that was left
				break
			}
			kills++
		}
		if kills < 4 {
			t.Errorf("%d kills while a store was restored, want at least 4", kills)
		}
		w.Start("b")
		w.CaughtUp()
		for p, rows := range want {
			got := map[string]string{}
			for key, value := range w.State(int32(p), 1) {
				got[key] = string(value)
			}
			if !maps.Equal(got, rows) {
				t.Errorf("partition %d has %d rows, want %d, or others", p, len(got), len(rows))
			}
		}
	})
}

// random returns n bytes that cannot be compressed, so that a fetch has a part of the log only.
func random(rng *rand.ChaCha8, n int) string {
	b := make([]byte, n)
	_, _ = rng.Read(b) // it never fails
	return string(b)
}

// killRestoring kills a process when a partition has at most so many records left to restore. It
// returns false if all partitions run without such a moment.
func killRestoring(t *testing.T, p *processorstest.Process, most int64) bool {
	t.Helper()
	for range 200_000 { // 20 s
		running := 0
		for _, s := range p.Runtime().Status() {
			if s.State == processors.StateRunning {
				running++
			}
			if s.Restore == nil || s.Restore.Records == 0 || s.Restore.Records > most {
				continue
			}
			t.Logf("killed with %d records left in partition %d", s.Restore.Records, s.Partition)
			p.Kill()
			if err := p.Await(); err != processorstest.ErrKilled {
				t.Fatal(err)
			}
			return true
		}
		if running == parts {
			return false
		}
		time.Sleep(100 * time.Microsecond)
	}
	t.Fatalf("the partitions do not run: %+v", p.Runtime().Status())
	return false
}
