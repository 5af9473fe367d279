package integration

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
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

// TestWakeLatency asks a handler on a real broker, and waits for the commit of each question. The
// tick is longer than the test may take: so no question waits for a tick. A new process has what
// was answered.
func TestWakeLatency(t *testing.T) {
	c := cleared(t)
	proc := stream.Processor{App: "wake", Inputs: []string{"wake.in"}, Partitions: 2, New: newCounter}
	k := kafka.Cluster{Brokers: c.addrs()}
	ctx := t.Context()
	topics := kafkaadmin.ProcessorTopics(proc, 2, time.Hour)
	if err := kafkaadmin.CreateMissing(ctx, k, topics, kafkaadmin.Defaults{}); err != nil {
		t.Fatal(err)
	}
	start := func() (rt *processors.Runtime, stop func()) {
		rt, err := processors.New(processors.Config{Kafka: k, Dir: t.TempDir(), Instance: "wake", Workers: 1, Tick: 2 * testlimit.Limit, BallastBytes: -1}, proc)
		if err != nil {
			t.Fatal(err)
		}
		run, end := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- rt.Run(run) }()
		if err := testlimit.Poll(ctx, func(context.Context) error {
			_, e0 := processors.HandlerOf[*counter](rt, 0)
			_, e1 := processors.HandlerOf[*counter](rt, 1)
			return errors.Join(e0, e1)
		}); err != nil {
			t.Fatalf("the partitions do not run: %v", err)
		}
		return rt, func() {
			end()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	ask := func(rt *processors.Runtime, p int32) (n uint64) {
		t.Helper()
		ctx := testlimit.Context(t)
		if err := processors.AskCommitted(ctx, rt, p, func(h *counter) error {
			h.n++
			n, h.dirty = h.n, true
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return n
	}

	rt, stop := start()
	const questions = 100
	var took []time.Duration
	for i := range questions {
		if i%4 < 2 {
			pass(t, 5*time.Millisecond) // the worker is idle again
		}
		began := time.Now()
		if n, want := ask(rt, int32(i%2)), uint64(i/2+1); n != want {
			t.Fatalf("question %d: %d, want %d", i, n, want)
		}
		took = append(took, time.Since(began))
	}
	stop()
	slices.Sort(took)
	t.Logf("from question to commit: median %s, p99 %s, longest %s", took[questions/2], took[questions*99/100], took[questions-1])
	rt, stop = start()
	defer stop()
	for p := range int32(2) {
		if n := ask(rt, p); n != questions/2+1 {
			t.Error(fmt.Errorf("partition %d continues with %d, want %d", p, n, questions/2+1))
		}
	}
}
