//go:build synctests

package processors_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// seenTable is the local table of idCounter.
const seenTable = 128

// idCounter counts new and repeated keys. Only a local table holds the keys that it has seen.
type idCounter struct {
	task    stream.Task
	seen    map[string]bool
	unsaved []string
	counts  [2]uint64 // new, repeated
	changed bool
	rebuilt *atomic.Int64 // records that Rebuild got
}

func newIDCounter(task stream.Task, rebuilt *atomic.Int64) (stream.Handler, error) {
	c := &idCounter{task: task, seen: map[string]bool{}, rebuilt: rebuilt}
	v, err := task.Get(1, []byte("n"))
	if err == nil && v != nil {
		_, err = fmt.Sscanf(string(v), "%d/%d", &c.counts[0], &c.counts[1])
	}
	return c, errors.Join(err, task.Scan(seenTable, nil, func(k, _ []byte) error {
		c.seen[string(k)] = true
		return nil
	}))
}

func (c *idCounter) RebuildFrom() map[string]int64 {
	return map[string]int64{"in": c.task.LocalNext["in"]}
}

func (c *idCounter) Rebuild(b *stream.Batch) error {
	c.rebuilt.Add(int64(len(b.Records)))
	for _, r := range b.Records {
		c.add(string(r.Key))
	}
	return nil
}

// add reports whether a key is repeated.
func (c *idCounter) add(key string) bool {
	if c.seen[key] {
		return true
	}
	c.seen[key] = true
	c.unsaved = append(c.unsaved, key)
	return false
}

func (c *idCounter) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		if c.add(string(r.Key)) {
			c.counts[1]++
		} else {
			c.counts[0]++
		}
	}
	c.changed = true
	return nil
}

func (c *idCounter) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, k := range c.unsaved {
		ch.Put(seenTable, []byte(k), nil)
	}
	if c.unsaved = nil; c.changed {
		ch.Put(1, []byte("n"), fmt.Appendf(nil, "%d/%d", c.counts[0], c.counts[1]))
		ch.Emit("out", stream.Message{Value: []byte("once")}) // without a key: the task's partition
	}
	c.changed = false
	return nil
}

// TestStandbyCompletesLocalTables: a standby reads the inputs ahead of time for what only local
// tables hold, so that its takeover reads few records again.
func TestStandbyCompletesLocalTables(t *testing.T) {
	var rebuilt [3]atomic.Int64 // of process a, of process b, of the checks
	o := ledgerOptions(1)
	version := func(i int) stream.Processor {
		proc := o.Processor
		proc.New = func(task stream.Task) (stream.Handler, error) { return newIDCounter(task, &rebuilt[i]) }
		return proc
	}
	o.Processor = version(2)
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		cfg := processors.Config{Workers: 1, Standbys: 1}
		cfg.SetRefreshLag(5)
		a := h.StartWith("a", cfg, version(0))
		h.WaitFor("process a runs", time.Minute, func() bool { return a.Status(0).State == "running" })
		b := h.StartWith("b", cfg, version(1))
		produce := func(from, to int) {
			for i := from; i < to; i++ {
				h.Send(&kgo.Record{Topic: "in", Key: fmt.Appendf(nil, "id%d", i)})
			}
		}
		produce(0, 100)
		h.WaitFor("process b has caught up", time.Minute, func() bool { return b.Status(0).Next["in"] == 100 })
		h.WaitFor("its local table is nearly complete", time.Minute, func() bool { return localNext(b) >= 95 })
		before := rebuilt[1].Load()
		a.Stop()
		h.WaitFor("process b runs", time.Minute, func() bool { return b.Status(0).State == "running" })
		if n := rebuilt[1].Load() - before; n > 5 {
			t.Errorf("the takeover read %d records again, want 5 at most", n)
		}
		produce(50, 120) // 50 repeated, 20 new
		h.CaughtUp()
		if v := string(h.State(0, 1)["n"]); v != "120/50" {
			t.Errorf("new and repeated keys: %s, want 120/50", v)
		}
		if len(h.Records("out")) == 0 {
			t.Error("there is no output")
		}
	})
}

// localNext returns the offset of "in" up to which the local tables of a process are complete.
func localNext(p *processorstest.Process) int64 {
	snap, err := p.Runtime().Snapshot()
	if err != nil {
		return 0
	}
	defer func() { _ = snap.Close() }()
	meta, err := snap.Meta(0)
	if err != nil {
		return 0
	}
	return changelogpb.NextOffsets(meta.Local)["in"]
}
