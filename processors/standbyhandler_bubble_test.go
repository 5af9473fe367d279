//go:build synctests

package processors_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// totals has the sum of each key in memory, and emits the total of all keys with each transaction
// and each timer. A negative value deletes the key.
type totals struct {
	stream.Task
	mut     string
	calls   *totalsCalls
	sum     map[string]int
	changed map[string]bool
	fired   int
	follows int
	taken   bool
}

// totalsCalls counts calls over all handlers.
type totalsCalls struct{ made, follows, takenOver, closed, emitted atomic.Int64 }

func newTotals(t stream.Task, mut string, calls *totalsCalls) (*totals, error) {
	calls.made.Add(1)
	h := &totals{Task: t, mut: mut, calls: calls, sum: map[string]int{}, changed: map[string]bool{}}
	return h, t.Scan(1, nil, func(k, v []byte) (err error) {
		h.sum[string(k)], err = strconv.Atoi(string(v))
		return err
	})
}

func (h *totals) Close() { h.calls.closed.Add(1) }

func (h *totals) total() (n int) {
	for _, v := range h.sum {
		n += v
	}
	return n
}

func (h *totals) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		n, err := strconv.Atoi(string(r.Value))
		if err != nil {
			return err
		}
		if h.changed[string(r.Key)] = true; n < 0 {
			delete(h.sum, string(r.Key))
			continue
		}
		h.sum[string(r.Key)] += n
		h.Timers.Set(stream.Timer{Clock: stream.WallTime, AtMs: r.TimeMs + 300, Key: strconv.AppendInt(nil, r.Offset, 10)})
	}
	return nil
}

func (h *totals) OnTimer(_ int64, due []stream.Timer) error {
	h.fired += len(due)
	return nil
}

func (h *totals) Flush(_ stream.Commit, ch *stream.Changes) error {
	for k := range h.changed {
		if n, ok := h.sum[k]; ok {
			ch.Put(1, []byte(k), strconv.AppendInt(nil, int64(n), 10))
		} else {
			ch.Delete(1, []byte(k))
		}
	}
	if len(h.changed)+h.fired > 0 {
		ch.EmitTo("out", h.Partition, stream.Message{Key: []byte("total"), Value: fmt.Appendf(nil, "%d of %d after %d timers", h.total(), len(h.sum), h.fired)})
		h.calls.emitted.Add(1)
	}
	clear(h.changed)
	h.fired = 0
	return nil
}

func (h *totals) Follow(changes []stream.Change) error {
	if h.taken {
		return errors.New("the handler of an owner was given changes of a standby")
	}
	h.calls.follows.Add(1)
	if h.follows++; h.mut == "misses a transaction" && h.follows == 2 {
		return nil
	}
	if h.mut == "fails" && h.follows == 3 {
		return errors.New("injected")
	}
	if h.mut == "panics" && h.follows == 3 {
		panic("injected")
	}
	for i, c := range changes {
		if i > 0 && string(changes[i-1].Key) >= string(c.Key) {
			return fmt.Errorf("key %q comes after %q", c.Key, changes[i-1].Key)
		}
		old, err := h.Get(c.Table, c.Key)
		if err != nil {
			return err
		}
		if n, known := h.sum[string(c.Key)]; h.mut == "" && (known != (old != nil) || known && strconv.Itoa(n) != string(old)) {
			return fmt.Errorf("key %q is %d in memory, and %q in the store", c.Key, n, old)
		}
		if c.Op == stream.OpDelete {
			if h.mut != "keeps deleted rows" {
				delete(h.sum, string(c.Key))
			}
			continue
		}
		if h.sum[string(c.Key)], err = strconv.Atoi(string(c.Value)); err != nil {
			return err
		}
	}
	return nil
}

func (h *totals) TakeOver(t stream.Task) error {
	if h.mut == "refuses to take over" {
		return errors.New("injected")
	}
	if t.Get == nil || t.MultiGet == nil || t.Scan == nil || t.Range == nil {
		return errors.New("the task of the owner cannot read")
	}
	if h.calls.takenOver.Add(1); h.mut != "keeps the task of the standby" {
		h.Task = t
	}
	h.taken = true
	return nil
}

func (h *totals) MemoryBytes() int64 { return int64(1000 * len(h.sum)) }

const totalsPartitions = 3

func totalsOptions(mut string, seed uint64, calls *totalsCalls) processorstest.Options {
	return processorstest.Options{
		Partitions: totalsPartitions, Seed: seed, Brokers: 1, DeliverAfterKill: true,
		Config: processors.Config{Workers: 1, Standbys: 1, RemainInGroup: true},
		Processor: stream.Processor{
			App: "totals", Inputs: []string{"in"}, Changelog: "log", Outputs: stream.OutputTopics("out"), WarmStandbys: true,
			New: func(t stream.Task) (stream.Handler, error) { return newTotals(t, mut, calls) },
		},
	}
}

// totalsRun kills processes at random failpoints, with records before, during and after.
type totalsRun struct {
	*processorstest.Harness
	rng   *rand.Rand
	procs map[string]*processorstest.Process
}

func (r *totalsRun) produce(n int) {
	for range n {
		value := r.rng.IntN(100)
		if r.rng.IntN(5) == 0 {
			value = -1
		}
		r.Produce("in", int32(r.rng.IntN(totalsPartitions)), fmt.Sprint("k", r.rng.IntN(12)), strconv.Itoa(value))
	}
}

// owner returns the process that runs a partition, and whether another one has it warm.
func (r *totalsRun) owner(p int32) (name string, warm bool) {
	for n, proc := range r.procs {
		switch s := proc.Status(p); {
		case s.State == processors.StateRunning:
			name = n
		case s.HandlerWarm:
			warm = true
		}
	}
	return name, warm
}

func (r *totalsRun) allWarm() bool {
	for p := range int32(totalsPartitions) {
		if name, warm := r.owner(p); name == "" || !warm {
			return false
		}
	}
	return true
}

func (r *totalsRun) run(rounds int, awaitWarm bool) {
	for _, name := range []string{"a", "b"} {
		r.procs[name] = r.Start(name)
	}
	for range rounds {
		r.produce(10)
		if awaitWarm {
			r.WaitFor("each partition runs, and has a warm handler", 3*time.Minute, r.allWarm)
		} else {
			time.Sleep(10 * time.Second)
		}
		for range 4 {
			r.produce(3)
			time.Sleep(time.Duration(r.rng.IntN(300)) * time.Millisecond)
		}
		name := []string{"a", "b"}[r.rng.IntN(2)]
		if r.rng.IntN(4) == 0 {
			r.procs[name].Stop()
		} else {
			points := processorstest.Failpoints()
			r.procs[name].KillAt(points[r.rng.IntN(len(points))])
			r.produce(9) // the process is killed when it commits them
			r.WaitFor("the kill", time.Minute, func() bool { r.produce(3); return r.procs[name].Ended() })
		}
		r.produce(3)
		r.CaughtUp()
		if r.rng.IntN(3) == 0 {
			r.NewDisk(name)
		}
		r.procs[name] = r.Start(name)
	}
	r.CaughtUp()
}

func runTotals(t *testing.T, mut string, seed uint64, f func(r *totalsRun)) (verdict error, calls *totalsCalls) {
	calls = &totalsCalls{}
	verdict = processorstest.CheckRun(t, totalsOptions(mut, seed, calls), func(_ *testing.T, h *processorstest.Harness) {
		f(&totalsRun{Harness: h, rng: rand.New(rand.NewPCG(seed, 3)), procs: map[string]*processorstest.Process{}})
	})
	return verdict, calls
}

// TestStandbyHandlers: takeovers continue with the handlers of standbys, and end as an undisturbed
// run does. Each handler is closed.
func TestStandbyHandlers(t *testing.T) {
	for seed := range uint64(4) {
		err, calls := runTotals(t, "", seed, func(r *totalsRun) { r.run(4, true) })
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		if calls.takenOver.Load() == 0 || calls.follows.Load() == 0 {
			t.Errorf("seed %d: no handler of a standby took over: %+v", seed, calls)
		}
		if made, closed := calls.made.Load(), calls.closed.Load(); made != closed {
			t.Errorf("seed %d: %d handlers were made, and %d closed", seed, made, closed)
		}
		t.Logf("seed %d: %d handlers were made, %d transactions followed, %d handlers took over", seed, calls.made.Load(), calls.follows.Load(), calls.takenOver.Load())
	}
}

// TestStandbyHandlerMutants injects bugs of handlers: wrong memory is reported by the checks, and a
// handler that fails costs a takeover with a new one.
func TestStandbyHandlerMutants(t *testing.T) {
	for _, mut := range []string{"misses a transaction", "keeps deleted rows", "keeps the task of the standby"} {
		var found error
		for seed := uint64(0); seed < 5 && found == nil; seed++ {
			found, _ = runTotals(t, mut, seed, func(r *totalsRun) { r.run(3, true) })
		}
		if found == nil || !strings.Contains(found.Error(), "RUN-2") && !strings.Contains(found.Error(), "RUN-6") {
			t.Errorf("a handler that %s: the checks reported %v", mut, found)
		}
	}
	for _, mut := range []string{"fails", "panics", "refuses to take over"} {
		err, calls := runTotals(t, mut, 1, func(r *totalsRun) { r.run(2, false) })
		if err != nil {
			t.Errorf("a handler that %s: %v", mut, err)
		}
		if calls.follows.Load() == 0 {
			t.Errorf("a handler that %s followed nothing", mut)
		}
	}
}

// TestStandbyHandlerBytes: handlers that have no room are discarded, and takeovers make new ones.
func TestStandbyHandlerBytes(t *testing.T) {
	calls := &totalsCalls{}
	o := totalsOptions("", 1, calls)
	o.Config.StandbyHandlerBytes = 5000 // of handlers with 1000 bytes for each key
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		procs := map[string]*processorstest.Process{"a": h.Start("a"), "b": h.Start("b")}
		for p := range int32(totalsPartitions) {
			for i := range 4 {
				h.Produce("in", p, fmt.Sprint("k", i), "1")
			}
		}
		h.CaughtUp()
		time.Sleep(time.Minute)
		for name, proc := range procs {
			for p, n := int32(0), 0; p < totalsPartitions; p++ {
				if proc.Status(p).HandlerWarm {
					if n += 4000; n > 5000 {
						t.Errorf("process %s has handlers with %d bytes in its standbys", name, n)
					}
				}
			}
		}
	})
	if calls.closed.Load() != calls.made.Load() {
		t.Errorf("%d handlers were made, and %d closed", calls.made.Load(), calls.closed.Load())
	}
}
