//go:build synctests

package processors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestWatch: a change of a key is reported within 10 ms of its commit, and a snapshot shows it
// then. Changes of other keys are not reported. Several changes are one report.
func TestWatch(t *testing.T) {
	o := ledgerOptions(2)
	var ended atomic.Int64 // when the last transaction had committed, before the store had it
	o.Config = processors.Config{Workers: 1}
	o.Config.SetFailpoint(func(_ *processors.Worker, at string) error {
		if at == "ended" {
			ended.Store(time.Now().UnixNano())
		}
		return nil
	})
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		p := h.Start("a")
		h.CaughtUp()
		rt := p.Runtime()
		changed, stop, err := rt.Watch(1, ledger.Table, []byte("k"))
		if err != nil {
			t.Fatal(err)
		}
		for n := range int64(20) {
			for range n % 3 { // none of these concerns the watch
				h.Produce("in", 1, "j", "1")
				h.Produce("in", 0, "k", "1")
				h.CaughtUp()
			}
			if len(changed) != 0 {
				t.Fatal("changes of other keys were reported")
			}
			h.Produce("in", 1, "k", "1")
			<-changed
			if took := time.Now().UnixNano() - ended.Load(); took > int64(10*time.Millisecond) {
				t.Errorf("reported %s after the commit", time.Duration(took))
			}
			if sum := sumInStore(t, p, 1, "k"); sum != n+1 {
				t.Fatalf("the store has %d after report %d", sum, n+1)
			}
		}
		for range 3 {
			h.Produce("in", 1, "k", "1")
			h.CaughtUp()
		}
		<-changed
		if len(changed) != 0 {
			t.Error("three changes are more than one report")
		}
		stop()
		h.Produce("in", 1, "k", "1")
		h.CaughtUp()
		if len(changed) != 0 {
			t.Error("a report after stop")
		}
		if _, _, err := rt.Watch(1, stream.FirstLocalTable, nil); err == nil || !strings.Contains(err.Error(), "local") {
			t.Errorf("a local table: %v", err)
		}
		changed, _, err = rt.Watch(0, ledger.Table, nil)
		if err != nil {
			t.Fatal(err)
		}
		p.Stop()
		if _, open := <-changed; open {
			t.Error("a report instead of the end")
		}
		if _, _, err := rt.Watch(0, ledger.Table, nil); !errors.Is(err, processors.ErrNotRunning) {
			t.Errorf("after the stop: %v", err)
		}
	})
}

// follow reads the sum of a key whenever it is reported, until ctx ends, and keeps the last sum. It
// watches again after some reports.
func follow(ctx context.Context, live *atomic.Pointer[processorstest.Process], key string, last *atomic.Int64) {
	for again := 0; ctx.Err() == nil; again = (again + 1) % 7 {
		rt := live.Load().Runtime()
		changed, stop, err := rt.Watch(0, ledger.Table, []byte(key))
		if err != nil {
			<-time.After(20 * time.Millisecond)
			continue
		}
		for open := true; open && again > 0; again-- {
			snap, err := rt.Snapshot()
			if err != nil {
				break
			}
			v, err := snap.Get(0, ledger.Table, []byte(key))
			if err := errors.Join(err, snap.Close()); err != nil {
				break
			}
			if n, err := ledger.Decode(string(v)); err == nil {
				last.Store(n)
			}
			select {
			case _, open = <-changed:
			case <-ctx.Done():
				open = false
			}
		}
		stop()
	}
}

// TestWatchMissesNothing: a reader that reads after each report has the last state in the end, with
// commits that fail, answers that get lost, transactions in the write buffer and a restart.
func TestWatchMissesNothing(t *testing.T) {
	o := ledgerOptions(1)
	o.Config = processors.Config{Workers: 1, PollRecords: 20, CommitRecords: 40}
	deferred, rng := 0, rand.New(rand.NewPCG(5, 6))
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		cfg := o.Config
		cfg.SetFailpoint(func(w *processors.Worker, at string) error {
			if at == "applied" {
				deferred += w.BufferedTasks()
			}
			if at == "flushed" && rng.IntN(20) == 0 {
				h.LoseAnswers(kmsg.EndTxn, 1)
			}
			return nil
		})
		var live atomic.Pointer[processorstest.Process]
		live.Store(h.StartWith("a", cfg, o.Processor))
		h.CaughtUp()
		ctx, end := context.WithCancel(t.Context())
		var following sync.WaitGroup
		var last [3]atomic.Int64
		for round := range 6 {
			var rs []*kgo.Record
			for i := range 500 {
				rs = append(rs, &kgo.Record{Topic: "in", Key: fmt.Append(nil, "k", i%10), Value: []byte("1")})
			}
			h.Send(rs...)
			if round == 2 { // from now on; the transactions so far could wait in the write buffer
				for i := range last {
					following.Go(func() { follow(ctx, &live, fmt.Sprint("k", i), &last[i]) })
				}
			}
			if round == 4 {
				live.Load().Stop()
				live.Store(h.StartWith("a", cfg, o.Processor))
			}
			<-time.After(300 * time.Millisecond)
		}
		h.CaughtUp()
		<-time.After(5 * time.Second)
		for i := range last {
			if got, want := last[i].Load(), sumInStore(t, live.Load(), 0, fmt.Sprint("k", i)); got != want {
				t.Errorf("key %d: the reader has %d, the store %d", i, got, want)
			}
		}
		end()
		following.Wait()
		if deferred == 0 {
			t.Error("no transaction was in the write buffer")
		}
	})
}
