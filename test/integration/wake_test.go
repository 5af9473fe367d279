package integration

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// counter counts questions.
type counter struct {
	stream.Task
	n     uint64
	dirty bool
	warm  bool // it was the handler of a standby
}

func newCounter(t stream.Task) (stream.Handler, error) {
	v, err := t.Get(1, nil)
	if v == nil {
		v = make([]byte, 8)
	}
	return &counter{Task: t, n: binary.BigEndian.Uint64(v)}, err
}

func (h *counter) Fold(*stream.Batch) error { return nil }

func (h *counter) Flush(_ stream.Commit, ch *stream.Changes) error {
	if h.dirty {
		ch.Put(1, nil, binary.BigEndian.AppendUint64(nil, h.n))
		h.dirty = false
	}
	return nil
}

func (h *counter) Follow(changes []stream.Change) error {
	for _, c := range changes {
		h.n = binary.BigEndian.Uint64(c.Value)
	}
	return nil
}

func (h *counter) TakeOver(t stream.Task) error {
	h.Task, h.warm = t, true
	return nil
}

func (h *counter) MemoryBytes() int64 { return 8 }

// asked is a processor whose handlers are asked on a real broker. Its tick is longer than a test
// may take: so no question waits for a tick.
type asked struct {
	t *testing.T
	k kafka.Cluster
	stream.Processor
}

func newAsked(t *testing.T, name string, warm bool) *asked {
	c := cleared(t)
	a := &asked{t, kafka.Cluster{Brokers: c.addrs()}, stream.Processor{App: name, Inputs: []string{name + ".in"}, Partitions: 2, WarmStandbys: warm, New: newCounter}}
	if err := kafkaadmin.CreateMissing(t.Context(), a.k, kafkaadmin.ProcessorTopics(a.Processor, 2, time.Hour), kafkaadmin.Defaults{}); err != nil {
		t.Fatal(err)
	}
	return a
}

// start starts a process and returns it with a function that stops it.
func (a *asked) start(name string, standbys int) (rt *processors.Runtime, stop func()) {
	a.t.Helper()
	rt, err := processors.New(processors.Config{
		Kafka: a.k, Dir: a.t.TempDir(), Instance: name, Workers: 1, Standbys: standbys, Tick: 2 * testlimit.Limit, BallastBytes: -1,
	}, a.Processor)
	if err != nil {
		a.t.Fatal(err)
	}
	run, end := context.WithCancel(a.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(run) }()
	return rt, sync.OnceFunc(func() {
		end()
		if err := <-ended; err != nil {
			a.t.Error(err)
		}
	})
}

// running waits until a process runs both partitions.
func (a *asked) running(rt *processors.Runtime) {
	a.t.Helper()
	testlimit.Within(a.t, "the partitions run", func(context.Context) error {
		_, e0 := processors.HandlerOf[*counter](rt, 0)
		_, e1 := processors.HandlerOf[*counter](rt, 1)
		return errors.Join(e0, e1)
	})
}

// ask asks the handler of a partition, waits for the commit, and returns the number of the
// question.
func (a *asked) ask(rt *processors.Runtime, p int32) (n uint64, warm bool) {
	a.t.Helper()
	if err := processors.AskCommitted(testlimit.Context(a.t), rt, p, func(h *counter) error {
		h.n++
		n, warm, h.dirty = h.n, h.warm, true
		return nil
	}); err != nil {
		a.t.Fatal(err)
	}
	return n, warm
}

// TestWakeLatency asks a handler on a real broker, and waits for the commit of each question. Who
// watches the row learns of each commit. A new process has what was answered.
func TestWakeLatency(t *testing.T) {
	a := newAsked(t, "wake", false)
	rt, stop := a.start("wake", 0)
	a.running(rt)
	changed, unwatch, err := rt.Watch(0, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	const questions = 100
	var took, noticed []time.Duration
	for i := range questions {
		if i%4 < 2 {
			pass(t, 5*time.Millisecond) // the worker is idle again
		}
		began := time.Now()
		if n, _ := a.ask(rt, int32(i%2)); n != uint64(i/2+1) {
			t.Fatalf("question %d: %d, want %d", i, n, i/2+1)
		}
		took = append(took, time.Since(began))
		if i%2 == 0 {
			began = time.Now()
			select {
			case _, ok := <-changed:
				if noticed = append(noticed, time.Since(began)); !ok {
					t.Fatal("the watch has ended")
				}
			case <-testlimit.Context(t).Done():
				t.Fatalf("question %d: the commit is not noticed", i)
			}
		}
	}
	unwatch()
	stop()
	slices.Sort(took)
	slices.Sort(noticed)
	t.Logf("from question to commit: median %s, p99 %s, longest %s", took[questions/2], took[questions*99/100], took[questions-1])
	t.Logf("from commit to the watch: median %s, longest %s", noticed[len(noticed)/2], noticed[len(noticed)-1])
	rt, stop = a.start("wake", 0)
	defer stop()
	a.running(rt)
	for p := range int32(2) {
		if n, _ := a.ask(rt, p); n != questions/2+1 {
			t.Error(fmt.Errorf("partition %d continues with %d, want %d", p, n, questions/2+1))
		}
	}
}

// TestWarmTakeover stops one of two processes whose standbys keep handlers warm. The handlers of
// the standbys continue with each answered question, and no new ones are made.
func TestWarmTakeover(t *testing.T) {
	a := newAsked(t, "warm", true)
	one, stopOne := a.start("one", 1)
	defer stopOne()
	a.running(one)
	for p := range int32(2) { // a standby makes its handler from a transaction
		a.ask(one, p)
	}
	two, stopTwo := a.start("two", 1)
	defer stopTwo()
	of := map[int32]*processors.Runtime{}
	testlimit.Within(t, "each process has a partition and keeps the other one warm", func(context.Context) error {
		for i, rt := range []*processors.Runtime{one, two} {
			running, warm := int32(-1), int32(-1)
			for _, s := range rt.Status() {
				switch {
				case s.State == processors.StateRunning:
					running = s.Partition
				case s.HandlerWarm:
					warm = s.Partition
				}
			}
			if running < 0 || warm != 1-running {
				return fmt.Errorf("process %d runs partition %d and keeps %d warm", i, running, warm)
			}
			of[running] = rt
		}
		return nil
	})
	const questions = 20
	for range questions {
		for p, rt := range of {
			a.ask(rt, p)
		}
	}
	stopOne()
	a.running(two)
	for p := range int32(2) {
		n, warm := a.ask(two, p)
		if n != questions+2 {
			t.Errorf("partition %d continues with %d, want %d", p, n, questions+2)
		}
		if moved := of[p] == one; moved && !warm {
			t.Errorf("partition %d moved, and has a new handler", p)
		}
	}
}
