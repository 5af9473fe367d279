package kafkaadmin

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// picky is a handler that rejects every record until it is repaired, and then keeps what it folds.
type picky struct {
	mu       *sync.Mutex
	repaired *bool
	folded   *[]string
}

func (p picky) Fold(b *stream.Batch) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, r := range b.Records {
		if !*p.repaired {
			b.Reject(i, "picky", fmt.Sprintf("record %d", r.Offset))
			continue
		}
		*p.folded = append(*p.folded, text(r.Key, r.Value, r.Headers[:len(r.Headers)-1]))
	}
	return nil
}

func (p picky) Flush(stream.Commit, *stream.Changes) error { return nil }

// text returns a record as text; nil and empty differ.
func text(key, value []byte, headers []stream.Header) string {
	s := fmt.Sprintf("%#v=%#v", key, value)
	for _, h := range headers {
		s += fmt.Sprintf(" %q:%#v", h.Key, h.Value)
	}
	return s
}

// TestDeadLettersOfTheRuntime sends records through a processor that rejects them, and replays them
// after the processor was repaired.
func TestDeadLettersOfTheRuntime(t *testing.T) {
	_, k := fake(t, kfake.SeedTopics(1, "in", "log", queue))
	sent := []*kgo.Record{
		{Key: []byte("k"), Value: []byte("v")},
		{Key: nil, Value: nil},
		{Key: []byte{}, Value: []byte{}},
		{Key: []byte{0, 0xff, '/'}, Value: []byte{0xff, 0, 0xfe}, Headers: []kgo.RecordHeader{{Key: "a", Value: nil}, {Key: "a", Value: []byte{}}, {Key: "", Value: []byte{0xff}}}},
		{Key: nil, Value: nil, Headers: []kgo.RecordHeader{{Key: "o.x", Value: []byte("1")}, {Key: "weir-topic", Value: []byte("mine")}, {Key: "weir-null-value"}}},
	}
	want := map[string]int{}
	for i, r := range sent {
		r.Topic, r.Timestamp = "in", time.UnixMilli(1700000000000+int64(i))
		var hs []stream.Header
		for _, h := range r.Headers {
			hs = append(hs, stream.Header{Key: h.Key, Value: h.Value})
		}
		want[text(r.Key, r.Value, hs)]++
	}
	produce(t, k, "", sent...)

	var repaired bool
	var folded []string
	core := picky{mu: new(sync.Mutex), repaired: &repaired, folded: &folded}
	rt, err := processors.New(processors.Config{Kafka: k, Dir: t.TempDir(), Instance: "one", Workers: 1, CommitInterval: 10 * time.Millisecond},
		stream.Processor{App: "app", Inputs: []string{"in"}, Changelog: "log", DLQ: queue, New: func(stream.Task) (stream.Handler, error) { return core, nil }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() { ran <- rt.Run(ctx) }()

	letters := await(t, func() []DeadLetter {
		got, err := ListDeadLetters(t.Context(), k, queue, DeadLetterFilter{})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}, len(sent))
	for i, l := range letters {
		if l.Malformed != nil || l.Reason != "picky" || l.Detail != fmt.Sprintf("record %d", i) || l.App != "app" ||
			l.Origin != (Origin{"in", 0, int64(i)}) || !l.Time.Equal(sent[i].Timestamp) {
			t.Errorf("dead letter %d: %+v", i, l)
		}
	}
	core.mu.Lock()
	repaired = true
	core.mu.Unlock()
	if got, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue}); err != nil || got.Done != len(sent) {
		t.Fatalf("%+v, %v", got, err)
	}
	got := map[string]int{}
	for _, s := range await(t, func() []string {
		core.mu.Lock()
		defer core.mu.Unlock()
		return folded
	}, len(sent)) {
		got[s]++
	}
	for s, n := range want {
		if got[s] != n {
			t.Errorf("folded %d times, want %d: %s", got[s], n, s)
		}
	}
	stop()
	if err := <-ran; err != nil {
		t.Fatal(err)
	}
}

// await calls ask until it returns n things.
func await[T any](t *testing.T, ask func() []T, n int) []T {
	t.Helper()
	var got []T
	testlimit.Within(t, "an answer", func(context.Context) error {
		if got = ask(); len(got) < n {
			return fmt.Errorf("%d of %d", len(got), n)
		}
		return nil
	})
	return got
}
