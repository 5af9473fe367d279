//go:build synctests

package processors_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestQueries: each key has one process that answers for it. The other process names it.
func TestQueries(t *testing.T) {
	const words = 40
	count := newCounter()
	proc := count.processor()
	processorstest.Run(t, processorstest.Options{Processor: proc, Partitions: 4}, func(t *testing.T, h *processorstest.Harness) {
		start := func(name string) *processorstest.Process {
			return h.StartWith(name, processors.Config{Workers: 2, Endpoint: name + ":80"}, proc)
		}
		procs := map[string]*processorstest.Process{"a": start("a"), "b": start("b")}
		word := func(i int) []byte { return fmt.Appendf(nil, "word%d", i) }
		for i := range words {
			h.Send(&kgo.Record{Topic: "words", Key: word(i), Partition: stream.Murmur2(word(i), 4)})
		}
		h.WaitFor("each process runs two partitions", time.Minute, func() bool {
			return len(running(procs["a"])) == 2 && len(running(procs["b"])) == 2
		})
		h.CaughtUp()
		now := running(procs["a"], procs["b"])
		for i := range words {
			p := stream.Murmur2(word(i), 4)
			for name, asked := range procs {
				owner, err := asked.Runtime().Owner(t.Context(), word(i))
				if want := (processors.Owner{Partition: p, Instance: now[p], Endpoint: now[p] + ":80", Self: now[p] == name}); owner != want || err != nil {
					t.Fatalf("owner of %s: %+v, %v, want %+v", word(i), owner, err, want)
				}
				req := httptest.NewRequest("GET", "/counts/word", nil)
				req.SetPathValue("word", string(word(i)))
				w := httptest.NewRecorder()
				(&counter{asked.Runtime(), count.counts}).serveCount(w, req)
				switch to := w.Header().Get("Location"); {
				case name == now[p] && w.Body.String() != "1\n":
					t.Fatalf("%s answers %d %q", name, w.Code, w.Body)
				case name != now[p] && (w.Code != 307 || to != "http://"+owner.Endpoint+"/counts/word"):
					t.Fatalf("%s answers %d and redirects to %q, and %s has the partition", name, w.Code, to, owner.Instance)
				}
			}
		}
		procs["b"].Stop()
		h.WaitFor("one process runs all partitions", time.Minute, func() bool { return len(running(procs["a"])) == 4 })
		for i := range words {
			err := procs["a"].Runtime().Read(t.Context(), word(i), func(s processors.PartitionState) error {
				n, _, err := count.counts.Get(s, string(word(i)))
				if n != 1 {
					t.Errorf("%s: %d", word(i), n)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		h.StartWith("b", processors.Config{Workers: 2, Endpoint: "b:81"}, proc)
		h.WaitFor("the new address of a process is known", time.Minute, func() bool {
			for i := range words {
				if owner, err := procs["a"].Runtime().Owner(t.Context(), word(i)); err == nil && owner.Endpoint == "b:81" {
					return true
				}
			}
			return false
		})
	})
}

// TestSnapshotPartition: a table reads the state of one partition of a snapshot. A partition that
// does not run here is an error, and so is one that the processor does not have.
func TestSnapshotPartition(t *testing.T) {
	count := newCounter()
	proc := count.processor()
	processorstest.Run(t, processorstest.Options{Processor: proc, Partitions: 2}, func(t *testing.T, h *processorstest.Harness) {
		cfg := processors.Config{Workers: 1, Standbys: 1}
		a := h.StartWith("a", cfg, proc)
		b := h.StartWith("b", cfg, proc)
		for _, word := range []string{"a", "b", "c"} {
			h.Send(&kgo.Record{Topic: "words", Key: []byte(word), Partition: 0})
		}
		h.WaitFor("each process runs a partition and keeps the other one warm", time.Minute, func() bool {
			return len(running(a)) == 1 && len(running(b)) == 1 && len(a.Runtime().Status()) == 2 && len(b.Runtime().Status()) == 2
		})
		h.CaughtUp()
		owner, standby := a, b
		if running(a, b)[0] == "b" {
			owner, standby = b, a
		}
		snap, err := owner.Runtime().Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = snap.Close() }()
		got := ""
		add := func(word string, n uint64) error {
			got += fmt.Sprint(word, n, " ")
			return nil
		}
		if err := count.counts.Scan(snap.Partition(0), add); err != nil || got != "a1 b1 c1 " {
			t.Errorf("scan: %q, %v", got, err)
		}
		got = ""
		if err := count.counts.ScanRange(snap.Partition(0), "b", "c", add); err != nil || got != "b1 " {
			t.Errorf("scan from b to c: %q, %v", got, err)
		}
		if err := count.counts.ScanRange(snap.Partition(0), "c", "b", add); err != nil || got != "b1 " {
			t.Errorf("scan of an empty range: %q, %v", got, err)
		}
		if _, ok, err := count.counts.Get(snap.Partition(0), "d"); ok || err != nil {
			t.Errorf("a word that does not exist: %t, %v", ok, err)
		}
		for p, want := range map[int32]error{-1: processors.ErrNoPartition, 1: processors.ErrNotOwned, 2: processors.ErrNoPartition} {
			if _, _, err := count.counts.Get(snap.Partition(p), "a"); !errors.Is(err, want) {
				t.Errorf("partition %d: %v", p, err)
			}
			if err := count.counts.Scan(snap.Partition(p), add); !errors.Is(err, want) {
				t.Errorf("scan of partition %d: %v", p, err)
			}
		}
		read := func(p *processorstest.Process, partition int32) error {
			return p.Runtime().ReadPartition(t.Context(), partition, func(processors.PartitionState) error { return nil })
		}
		var other *processors.NotOwnedError
		if err := read(standby, 0); !errors.As(err, &other) || other.Owner.Instance != owner.Name() || !errors.Is(err, processors.ErrNotOwned) {
			t.Errorf("a read at the standby: %v", err)
		}
		if err := read(owner, 2); !errors.Is(err, processors.ErrNoPartition) || errors.Is(err, processors.ErrNotOwned) {
			t.Errorf("a read of a partition that does not exist: %v", err)
		}
		standby.Stop()
		if err := read(standby, 0); !errors.Is(err, processors.ErrNotRunning) {
			t.Errorf("a read after the end of Run: %v", err)
		}
	})
}
