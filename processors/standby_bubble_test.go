//go:build synctests

package processors

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// crew is three processes that keep each other's partitions warm.
type crew struct {
	w     *crashRun
	names []string
	fs    map[string]*vfs.MemFS
	rts   map[string]*Runtime
	ends  map[string]func() error
}

const crewParts = 12

func newCrew(w *crashRun, names ...string) *crew {
	c := &crew{w: w, names: names, fs: map[string]*vfs.MemFS{}, rts: map[string]*Runtime{}, ends: map[string]func() error{}}
	for _, n := range names {
		c.fs[n] = vfs.NewCrashableMem()
		c.start(n, false)
	}
	return c
}

func (c *crew) start(name string, stay bool) {
	c.rts[name], c.ends[name] = c.w.begin(name, Config{Workers: 2, Standbys: 1, FS: c.fs[name], RemainInGroup: stay}, ledgers("in"))
}

func (c *crew) stop(name string) {
	if err := c.ends[name](); err != nil {
		c.w.t.Errorf("%s: %v", name, err)
	}
	delete(c.rts, name)
}

// at says which processes have each partition in a state.
func (c *crew) at(state string) map[int32][]string {
	out := map[int32][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.rts)) {
		for _, s := range c.rts[name].Status() {
			if s.State == state {
				out[s.Partition] = append(out[s.Partition], name)
			}
		}
	}
	return out
}

// warm says whether every partition runs at one process and is kept warm, without lag, at another.
func (c *crew) warm(next int64) bool {
	running, standby := c.at("running"), c.at("standby")
	for p := range int32(crewParts) {
		if len(running[p]) != 1 || len(standby[p]) != 1 || running[p][0] == standby[p][0] {
			return false
		}
		snap, err := c.rts[standby[p][0]].Snapshot()
		if err != nil {
			return false
		}
		meta, err := snap.Meta(p)
		if err != nil || changelogpb.NextOffsets(meta.GetMarker().GetInputs())["in"] < next {
			_ = snap.Close()
			return false
		}
		_ = snap.Close()
	}
	return true
}

// serving says whether every partition runs somewhere.
func (c *crew) serving() bool { return len(c.at("running")) == crewParts }

func (c *crew) fill(n int) {
	cl := c.w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
	defer cl.Close()
	for p := range int32(crewParts) {
		for i := range n {
			rec := &kgo.Record{Topic: "in", Partition: p, Key: fmt.Appendf(nil, "k%d", i%7), Value: []byte("1")}
			if err := cl.ProduceSync(c.w.t.Context(), rec).FirstErr(); err != nil {
				c.w.t.Fatal(err)
			}
		}
	}
}

// total is the sum of all keys as the owners have it.
func (c *crew) total() (sum int64) {
	for p, names := range c.at("running") {
		snap, err := c.rts[names[0]].Snapshot()
		if err != nil {
			c.w.t.Fatal(err)
		}
		err = snap.Scan(p, 1, nil, func(_, v []byte) error {
			n, err := total(string(v))
			sum += n
			return err
		})
		if err != nil {
			c.w.t.Fatal(err)
		}
		_ = snap.Close()
	}
	return sum
}

// TestStandbyTakesOver: the partitions of a process that dies go on at those that kept them warm, within 8 seconds of its death,
// the session time of 6 included, and without reading more than the tail.
func TestStandbyTakesOver(t *testing.T) {
	bubble(t, crewParts, func(t *testing.T, w *crashRun) {
		c := newCrew(w, "a", "b")
		c.names = append(c.names, "c")
		c.fs["c"] = vfs.NewCrashableMem()
		c.start("c", true)
		c.fill(30)
		w.until("everything is warm and even", 2*time.Minute, func() bool { return c.warm(30) && c.even() })
		running, standby := c.at("running"), c.at("standby")
		died := time.Now()
		c.stop("c") // it stays in the group, as one that is killed
		w.until("the others serve its partitions", 8*time.Second, c.serving)
		t.Logf("served again after %s", time.Since(died))
		for p, at := range c.at("running") {
			if running[p][0] == "c" && at[0] != standby[p][0] {
				t.Errorf("partition %d went to %s, %s had it warm", p, at[0], standby[p][0])
			}
			if running[p][0] != "c" && at[0] != running[p][0] {
				t.Errorf("partition %d moved from %s to %s, which nobody needed", p, running[p][0], at[0])
			}
		}
		c.fill(5)
		w.until("two keep everything warm", 2*time.Minute, func() bool { return c.warm(35) })
		if got := c.total(); got != 35*crewParts {
			t.Errorf("the total is %d, want %d", got, 35*crewParts)
		}
		for _, n := range []string{"a", "b"} {
			c.stop(n)
		}
	})
}

// TestRollingRestart: three processes restart one after another, each with its disk. No partition is away for longer than a
// takeover takes, and in the end all is even again.
func TestRollingRestart(t *testing.T) {
	bubble(t, crewParts, func(t *testing.T, w *crashRun) {
		c := newCrew(w, "a", "b", "c")
		c.fill(30)
		w.until("everything is warm", 2*time.Minute, func() bool { return c.warm(30) })
		for i, n := range c.names {
			stopped := time.Now()
			c.stop(n)
			w.until("the others serve", 3*time.Second, c.serving)
			t.Logf("%s stopped: all served after %s", n, time.Since(stopped))
			c.fill(2)
			c.start(n, false)
			worst, since := time.Duration(0), time.Now()
			w.until("all is even and warm", time.Minute, func() bool {
				if c.serving() {
					worst, since = max(worst, time.Since(since)), time.Now()
				}
				return c.warm(int64(32+2*i)) && c.even()
			})
			if worst > 3*time.Second {
				t.Errorf("a partition was away for %s while %s came back", worst, n)
			}
			t.Logf("%s back: away %s at most", n, worst)
		}
		if got := c.total(); got != 36*crewParts {
			t.Errorf("the total is %d, want %d", got, 36*crewParts)
		}
		for _, n := range c.names {
			c.stop(n)
		}
	})
}

func (c *crew) even() bool {
	n := map[string]int{}
	for _, at := range c.at("running") {
		n[at[0]]++
	}
	for _, name := range c.names {
		if n[name] != crewParts/len(c.names) {
			return false
		}
	}
	return true
}

// TestNewProcessWarmsFirst: a process with an empty disk gets its share only when it has caught up.
func TestNewProcessWarmsFirst(t *testing.T) {
	bubble(t, crewParts, func(t *testing.T, w *crashRun) {
		c := newCrew(w, "a")
		c.fill(30)
		w.until("one runs all", time.Minute, c.serving)
		c.names = append(c.names, "b")
		c.fs["b"] = vfs.NewCrashableMem()
		c.start("b", false)
		w.until("both run half and keep the other half warm", time.Minute, func() bool { return c.warm(30) && c.even() })
		if got := c.total(); got != 30*crewParts {
			t.Errorf("the total is %d, want %d", got, 30*crewParts)
		}
		c.stop("a")
		c.stop("b")
	})
}

// book is a core with memory that only a local table holds: which keys it has seen. A key that comes again counts as a
// duplicate.
type book struct {
	task   stream.Task
	seen   map[string]bool
	fresh  []string
	counts [2]uint64 // new, again
	dirty  bool
	warmed *atomic.Int64
}

func (b *book) RebuildFrom() map[string]int64 { return map[string]int64{"in": b.task.LocalNext["in"]} }

func (b *book) Rebuild(batch *stream.Batch) error {
	b.warmed.Add(int64(len(batch.Records)))
	for _, r := range batch.Records {
		b.see(string(r.Key))
	}
	return nil
}

func (b *book) see(key string) bool {
	if b.seen[key] {
		return true
	}
	b.seen[key] = true
	b.fresh = append(b.fresh, key)
	return false
}

func (b *book) Fold(batch *stream.Batch) error {
	for _, r := range batch.Records {
		if b.see(string(r.Key)) {
			b.counts[1]++
		} else {
			b.counts[0]++
		}
	}
	b.dirty = true
	return nil
}

func (b *book) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, k := range b.fresh {
		ch.Put(128, []byte(k), nil)
	}
	if b.fresh = nil; b.dirty {
		ch.Put(1, []byte("n"), fmt.Appendf(nil, "%d/%d", b.counts[0], b.counts[1]))
		ch.Emit("out", stream.Message{Value: []byte("once")}) // without a key: the task's partition
	}
	b.dirty = false
	return nil
}

// TestStandbyKnowsLocalTables: what only a local table holds goes with a partition to its standby, which has read most of it
// ahead of time.
func TestStandbyKnowsLocalTables(t *testing.T) {
	bubble(t, 1, func(t *testing.T, w *crashRun) {
		var warmed [2]atomic.Int64
		begin := func(i int) (*Runtime, func() error) {
			proc := ledgers("in")
			proc.New = func(task stream.Task) (stream.Handler, error) {
				b := &book{task: task, seen: map[string]bool{}, warmed: &warmed[i]}
				v, err := task.Get(1, []byte("n"))
				if err == nil && v != nil {
					_, err = fmt.Sscanf(string(v), "%d/%d", &b.counts[0], &b.counts[1])
				}
				return b, errors.Join(err, task.Scan(128, nil, func(k, _ []byte) error {
					b.seen[string(k)] = true
					return nil
				}))
			}
			return w.begin(string(rune('a'+i)), Config{Workers: 1, Standbys: 1, refreshLag: 5}, proc)
		}
		a, endA := begin(0)
		w.until("a runs", time.Minute, func() bool { return w.status(a, 0).State == "running" })
		b, endB := begin(1)
		put := func(from, to int) {
			cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
			defer cl.Close()
			for i := from; i < to; i++ {
				if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "in", Key: fmt.Appendf(nil, "id%d", i)}).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
		}
		put(0, 100)
		w.until("b follows", time.Minute, func() bool { return w.status(b, 0).Next["in"] == 100 })
		local := func() int64 {
			snap, err := b.Snapshot()
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
		w.until("its local table is nearly complete", time.Minute, func() bool { return local() >= 95 })
		before := warmed[1].Load()
		if err := endA(); err != nil {
			t.Error(err)
		}
		w.until("b runs", time.Minute, func() bool { return w.status(b, 0).State == "running" })
		if n := warmed[1].Load() - before; n > 5 {
			t.Errorf("%d records were read again in the takeover, want 5 at most", n)
		}
		put(50, 120) // 50 again, 20 new
		w.until("b folds", time.Minute, func() bool { return w.status(b, 0).Next["in"] == 170 })
		snap, err := b.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		v, err := snap.Get(0, 1, []byte("n"))
		if _ = snap.Close(); err != nil || string(v) != "120/50" {
			t.Errorf("new and again: %s, %v; want 120/50", v, err)
		}
		if n := len(w.read("out")); n == 0 {
			t.Error("nothing was put out")
		}
		if err := endB(); err != nil {
			t.Error(err)
		}
	})
}
