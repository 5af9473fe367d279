package kafkaadmin

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

const queue = "app.dlq"

// letterRecord returns a dead letter as package processors writes it. TestDeadLettersOfTheRuntime
// compares the formats.
func letterRecord(o Origin, value string, headers ...kgo.RecordHeader) *kgo.Record {
	h := func(k, v string) kgo.RecordHeader { return kgo.RecordHeader{Key: k, Value: []byte(v)} }
	return &kgo.Record{Topic: queue, Partition: o.Partition, Key: []byte(o.String()), Value: []byte(value), Headers: append([]kgo.RecordHeader{
		h(processors.HeaderApp, "app"), h(processors.HeaderTopic, o.Topic), h(processors.HeaderPartition, fmt.Sprint(o.Partition)),
		h(processors.HeaderOffset, fmt.Sprint(o.Offset)), h(processors.HeaderTimeMs, "1700000000123"), h(processors.HeaderReason, "negative_price"),
		h(processors.HeaderDetail, "the price is -1"), h(processors.HeaderKey, "account"),
	}, headers...)}
}

// queueOf writes n dead letters of topic in to all partitions of the dead-letter topic.
func queueOf(t *testing.T, n int) (*kfake.Cluster, kafka.Cluster, []DeadLetter) {
	t.Helper()
	c, k := fake(t, kfake.SeedTopics(4, "in", queue))
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, letterRecord(Origin{"in", int32(i % 4), int64(i)}, fmt.Sprintf("v%d", i)))
	}
	produce(t, k, "worker", rs...)
	letters, err := ListDeadLetters(t.Context(), k, queue, DeadLetterFilter{})
	if err != nil {
		t.Fatal(err)
	}
	if len(letters) != n {
		t.Fatalf("%d dead letters, want %d", len(letters), n)
	}
	return c, k, letters
}

// checkReplayedOnce checks that each of n dead letters was replayed exactly once and none is left.
func checkReplayedOnce(t *testing.T, k kafka.Cluster, n int) {
	t.Helper()
	times := map[string]int{}
	for _, r := range committed(t, k, "in") {
		last := r.Headers[len(r.Headers)-1]
		if last.Key != HeaderReplayOf {
			t.Fatalf("a record without %s: %v", HeaderReplayOf, r.Headers)
		}
		times[string(last.Value)]++
	}
	for i := range n {
		if o := (Origin{"in", int32(i % 4), int64(i)}); times[o.String()] != 1 {
			t.Errorf("%s was replayed %d times", o, times[o.String()])
		}
	}
	if len(times) != n {
		t.Errorf("%d origins, want %d", len(times), n)
	}
	left, err := ListDeadLetters(t.Context(), k, queue, DeadLetterFilter{})
	if err != nil || len(left) != 0 {
		t.Errorf("unresolved dead letters: %d, %v", len(left), err)
	}
}

func TestReplayTwiceIsOnce(t *testing.T) {
	const n = 1203
	_, k, letters := queueOf(t, n)
	var steps []int
	got, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue, Progress: func(o ResolveResult) { steps = append(steps, o.Done) }})
	if err != nil || got != (ResolveResult{Done: n}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(steps) != 3 || steps[0] != maxResolveRecords {
		t.Errorf("transactions ended at %v", steps)
	}
	checkReplayedOnce(t, k, n)
	if got, err = ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue}); err != nil || got != (ResolveResult{AlreadyResolved: n}) {
		t.Fatalf("again: %+v, %v", got, err)
	}
	if got, err = DropDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue, By: "me", Why: "test"}); err != nil || got != (ResolveResult{AlreadyResolved: n}) {
		t.Fatalf("drop after it: %+v, %v", got, err)
	}
	checkReplayedOnce(t, k, n)
}

func TestDuplicateArgumentIsReplayedOnce(t *testing.T) {
	_, k, letters := queueOf(t, 2)
	got, err := ReplayDeadLetters(t.Context(), k, append(letters, letters...), ResolveOptions{Topic: queue})
	if err != nil || got.Done != 2 || got.Remaining != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	checkReplayedOnce(t, k, 2)
}

// TestCrashAtEveryFailpoint ends a session at each failpoint and replays again.
func TestCrashAtEveryFailpoint(t *testing.T) {
	const n = 700 // records of two transactions
	crash := errors.New("crash")
	for _, at := range []string{"opened", "checked", "produced", "committed"} {
		t.Run(at, func(t *testing.T) {
			_, k, letters := queueOf(t, n)
			got, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue, failpoint: func(here string, cl *kgo.Client) error {
				if here != at {
					return nil
				}
				cl.Close() // an open transaction stays open on the broker
				return crash
			}})
			if !errors.Is(err, crash) || got.Done != 0 {
				t.Fatalf("%+v, %v", got, err)
			}
			done := 0
			if at == "committed" {
				done = maxResolveRecords
			}
			if got, err = ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue}); err != nil || got != (ResolveResult{Done: n - done, AlreadyResolved: done}) {
				t.Fatalf("again: %+v, %v", got, err)
			}
			checkReplayedOnce(t, k, n)
		})
	}
}

// TestTakeoverAtEveryFailpoint runs a whole second replay inside the first.
func TestTakeoverAtEveryFailpoint(t *testing.T) {
	const n = 700
	for _, at := range []string{"opened", "checked", "produced", "committed"} {
		t.Run(at, func(t *testing.T) {
			_, k, letters := queueOf(t, n)
			var inner ResolveResult
			var once sync.Once
			got, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue, failpoint: func(here string, _ *kgo.Client) (err error) {
				if here == at {
					once.Do(func() { inner, err = ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue}) })
				}
				return err
			}})
			switch at {
			case "opened": // it reads the topic afterwards and finds no unresolved dead letter
				if err != nil || got != (ResolveResult{AlreadyResolved: n}) {
					t.Errorf("outer: %+v, %v", got, err)
				}
			case "committed": // the outer replay committed the first transaction
				if !errors.Is(err, ErrTakenOver) || inner != (ResolveResult{Done: n - maxResolveRecords, AlreadyResolved: maxResolveRecords}) {
					t.Errorf("outer: %+v, %v; inner %+v", got, err, inner)
				}
			default:
				if !errors.Is(err, ErrTakenOver) || got.Done != 0 || inner.Done != n {
					t.Errorf("outer: %+v, %v; inner %+v", got, err, inner)
				}
			}
			checkReplayedOnce(t, k, n)
		})
	}
}

func TestConcurrentReplays(t *testing.T) {
	const n = 900
	_, k, letters := queueOf(t, n)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	for range 4 {
		wg.Go(func() {
			got, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue})
			if err != nil && !errors.Is(err, ErrTakenOver) {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			done += got.Done
		})
	}
	wg.Wait()
	got, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue})
	if err != nil || done+got.Done != n {
		t.Fatalf("%d + %+v, %v", done, got, err)
	}
	checkReplayedOnce(t, k, n)
}

// TestOpenTransactionHidesNothing: the application has an open transaction in the dead-letter topic
// that began before the tombstones of a first replay. The last stable offset is before the
// tombstones, so a second replay that read only up to there would replay the records twice.
func TestOpenTransactionHidesNothing(t *testing.T) {
	const n = 4
	c, k, letters := queueOf(t, n)
	worker := client(t, k, kgo.TransactionalID("worker"))
	got, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue, failpoint: func(at string, _ *kgo.Client) error {
		if at != "checked" {
			return nil
		}
		if err := worker.BeginTransaction(); err != nil {
			return err
		}
		var rs []*kgo.Record
		for p := range int32(n) {
			rs = append(rs, letterRecord(Origin{"other", p, 99}, "v"))
		}
		return worker.ProduceSync(t.Context(), rs...).FirstErr()
	}})
	if err != nil || got.Done != n {
		t.Fatalf("%+v, %v", got, err)
	}
	hidden, err := ListDeadLetters(t.Context(), k, queue, DeadLetterFilter{})
	if err != nil || len(hidden) != n {
		t.Fatalf("the open transaction does not hide the tombstones: %d letters, %v", len(hidden), err)
	}
	fetches := 0
	aborted := make(chan error, 1)
	got, err = ReplayDeadLetters(t.Context(), k, hidden, ResolveOptions{Topic: queue, failpoint: func(at string, _ *kgo.Client) error {
		if at != "opened" {
			return nil
		}
		c.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
			if fetches++; fetches == 3 { // the replay waits for the transaction now
				go func() { aborted <- worker.EndTransaction(t.Context(), kgo.TryAbort) }()
			}
			return nil, nil, false
		})
		return nil
	}})
	if err != nil || got != (ResolveResult{AlreadyResolved: n}) || fetches < 3 {
		t.Fatalf("again: %+v, %v, after %d fetches", got, err, fetches)
	}
	if err := <-aborted; err != nil {
		t.Fatal(err)
	}
	checkReplayedOnce(t, k, n)
}

func TestCommitWithUnknownOutcome(t *testing.T) {
	const n = 10
	c, k, letters := queueOf(t, n)
	c.ControlKey(int16(kmsg.EndTxn), func(req kmsg.Request) (kmsg.Response, error, bool) {
		resp := req.ResponseKind().(*kmsg.EndTxnResponse)
		resp.ErrorCode = kerr.UnknownServerError.Code
		return resp, nil, true
	})
	got, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue})
	if !errors.Is(err, ErrOutcomeUnknown) || got != (ResolveResult{Remaining: n}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if got, err = ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue}); err != nil || got != (ResolveResult{Done: n}) {
		t.Fatalf("again: %+v, %v", got, err)
	}
	checkReplayedOnce(t, k, n)
}

func TestReplayToDeletedTopic(t *testing.T) {
	_, k, _ := queueOf(t, 1)
	produce(t, k, "", letterRecord(Origin{"in", 3, 5}, "good"), letterRecord(Origin{"gone", 3, 5}, "v"))
	letters, err := ListDeadLetters(t.Context(), k, queue, DeadLetterFilter{Partitions: []int32{3}})
	if err != nil || len(letters) != 2 {
		t.Fatal(letters, err)
	}
	ctx := t.Context()
	got, err := ReplayDeadLetters(ctx, k, letters, ResolveOptions{Topic: queue})
	if !errors.Is(err, kerr.UnknownTopicOrPartition) || got.Done != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if rs := committed(t, k, "in"); len(rs) != 0 {
		t.Errorf("the transaction was not atomic: %d records", len(rs))
	}
	if left, err := ListDeadLetters(ctx, k, queue, DeadLetterFilter{Partitions: []int32{3}}); err != nil || len(left) != 2 {
		t.Errorf("left: %v %v", left, err)
	}
}

func TestReplayToTheNamedPartition(t *testing.T) {
	_, k, letters := queueOf(t, 8)
	o := ResolveOptions{Topic: queue, Partition: func(l *DeadLetter, partitions int32) (int32, error) {
		return (l.Origin.Partition + 1) % partitions, nil
	}}
	if got, err := ReplayDeadLetters(t.Context(), k, letters, o); err != nil || got != (ResolveResult{Done: 8}) {
		t.Fatalf("%+v, %v", got, err)
	}
	checkReplayedOnce(t, k, 8)
	for _, r := range committed(t, k, "in") {
		origin, err := ParseOrigin(header(r, HeaderReplayOf))
		if err != nil || r.Partition != (origin.Partition+1)%4 {
			t.Errorf("the record of %s is in partition %d, %v", origin, r.Partition, err)
		}
	}
}

// TestReplayWithoutPartition: one record without a partition stops the replay before its first
// transaction, and no dead letter is resolved.
func TestReplayWithoutPartition(t *testing.T) {
	for name, of := range map[string]func(*DeadLetter, int32) (int32, error){
		"no account": func(l *DeadLetter, _ int32) (int32, error) {
			if l.Origin.Offset == 6 {
				return 0, errors.New("no account")
			}
			return l.Origin.Partition, nil
		},
		"4 partitions": func(l *DeadLetter, partitions int32) (int32, error) { return partitions, nil },
	} {
		_, k, letters := queueOf(t, 8)
		got, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue, Partition: of})
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "leave it out") || got.Remaining != 8 {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if rs := committed(t, k, "in"); len(rs) != 0 {
			t.Errorf("%s: %d records were replayed", name, len(rs))
		}
	}
}

// TestCountDeadLetters: the counts are those of the list, without resolved dead letters, and a long
// topic is not read.
// TestCountDeadLetters: the count is that of the list, and the topic is read again only if it has
// changed.
func TestCountDeadLetters(t *testing.T) {
	c, k, letters := queueOf(t, 9)
	other := letterRecord(Origin{"in", 1, 100}, "v")
	for i, h := range other.Headers {
		if h.Key == processors.HeaderReason {
			other.Headers[i].Value = []byte("too_old")
		}
	}
	produce(t, k, "worker", other)
	reads := c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Observe: true, Count: -1})
	counter := &DeadLetterCounter{Kafka: k, Topic: queue, Limit: 1000}
	var offsets int64
	count := func(prices, old int, read bool) {
		t.Helper()
		before := reads.Hits()
		counts, n, err := counter.Count(t.Context())
		if err != nil || counts["negative_price"] != prices || counts["too_old"] != old || len(counts) != 2 {
			t.Errorf("%v, %v, want %d and %d", counts, err, prices, old)
		}
		if got := reads.Hits() > before; got != read {
			t.Errorf("the topic was read: %t, want %t", got, read)
		}
		clear(counts) // a caller may change them
		offsets = n
	}
	count(9, 1, true)
	count(9, 1, false)
	if _, err := DropDeadLetters(t.Context(), k, letters[:2], ResolveOptions{Topic: queue, By: "me", Why: "test"}); err != nil {
		t.Fatal(err)
	}
	count(7, 1, true)
	count(7, 1, false)
	counter.Limit = offsets - 1
	if counts, n, err := counter.Count(t.Context()); counts != nil || n != offsets || err != nil {
		t.Errorf("above the limit: %v, %d offsets, %v", counts, n, err)
	}
	missing := &DeadLetterCounter{Kafka: k, Topic: "missing", Limit: 1000}
	if _, _, err := missing.Count(t.Context()); !errors.Is(err, ErrUnknownTopic) {
		t.Errorf("no topic: %v", err)
	}
}

func TestDrop(t *testing.T) {
	_, k, letters := queueOf(t, 8)
	if _, err := DropDeadLetters(t.Context(), k, letters[:1], ResolveOptions{Topic: queue}); err == nil {
		t.Error("a dead letter was dropped without By and Why")
	}
	got, err := DropDeadLetters(t.Context(), k, letters[:3], ResolveOptions{Topic: queue, By: "ann", Why: "test traffic"})
	if err != nil || got != (ResolveResult{Done: 3}) {
		t.Fatalf("%+v, %v", got, err)
	}
	if rs := committed(t, k, "in"); len(rs) != 0 {
		t.Errorf("dropped letters were replayed: %d", len(rs))
	}
	tombstones := 0
	for _, r := range committed(t, k, queue) {
		if r.Value != nil {
			continue
		}
		tombstones++
		text := fmt.Sprint(header(r, HeaderResolved), header(r, HeaderBy), header(r, HeaderWhy))
		if text != "dropped ann test traffic" && text != "droppedanntest traffic" {
			t.Errorf("headers of the tombstone: %q", text)
		}
	}
	left, err := ListDeadLetters(t.Context(), k, queue, DeadLetterFilter{})
	if err != nil || len(left) != 5 || tombstones != 3 {
		t.Errorf("%d left, %d tombstones, %v", len(left), tombstones, err)
	}
}

func header(r *kgo.Record, key string) string {
	for _, h := range r.Headers {
		if h.Key == key {
			return string(h.Value)
		}
	}
	return ""
}

func TestListAndShow(t *testing.T) {
	_, k, letters := queueOf(t, 8)
	produce(t, k, "", letterRecord(Origin{"in", 2, 99}, "v", kgo.RecordHeader{Key: processors.HeaderReason, Value: []byte("other")}))
	aborted := client(t, k, kgo.TransactionalID("aborted"))
	_ = aborted.BeginTransaction()
	_ = aborted.ProduceSync(t.Context(), letterRecord(Origin{"in", 2, 100}, "v"), &kgo.Record{Topic: queue, Partition: 2, Key: []byte("in/2/99")})
	if err := aborted.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		f    DeadLetterFilter
		n    int
	}{
		{"all", DeadLetterFilter{}, 9},
		{"reason", DeadLetterFilter{Reason: "other"}, 1},
		{"partition", DeadLetterFilter{Partitions: []int32{2}}, 3},
		{"none", DeadLetterFilter{Partitions: []int32{}}, 0},
		{"limit", DeadLetterFilter{Limit: 5}, 5},
		{"both", DeadLetterFilter{Reason: "negative_price", Partitions: []int32{2}, Limit: 1}, 1},
	} {
		got, err := ListDeadLetters(t.Context(), k, queue, c.f)
		if err != nil || len(got) != c.n {
			t.Errorf("%s: %d letters, want %d, %v", c.name, len(got), c.n, err)
		}
	}
	got, err := ReadDeadLetter(t.Context(), k, queue, Origin{"in", 2, 2})
	if err != nil || string(got.Value) != "v2" || string(got.Key) != "account" || got.Reason != "negative_price" ||
		got.Detail != "the price is -1" || got.App != "app" || !got.Time.Equal(time.UnixMilli(1700000000123)) || got.RejectedAt.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadDeadLetter(t.Context(), k, queue, Origin{"in", 2, 100}); !errors.Is(err, ErrNoDeadLetter) {
		t.Errorf("a dead letter of an aborted transaction: %v", err)
	}
	if _, err := ReplayDeadLetters(t.Context(), k, letters[:1], ResolveOptions{Topic: queue}); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadDeadLetter(t.Context(), k, queue, letters[0].Origin); !errors.Is(err, ErrNoDeadLetter) {
		t.Errorf("a resolved dead letter: %v", err)
	}
	if _, err := ListDeadLetters(t.Context(), k, "nowhere.dlq", DeadLetterFilter{}); !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Errorf("a topic that does not exist: %v", err)
	}
}

// TestListPassesGaps: compaction removed every record between the first dead letter and the open
// transaction at which the read ends.
func TestListPassesGaps(t *testing.T) {
	c, k := fake(t, kfake.SeedTopics(1, "in"))
	if err := c.CreateTopic(queue, 1, map[string]string{"cleanup.policy": "compact", "delete.retention.ms": "0"}); err != nil {
		t.Fatal(err)
	}
	first, second := Origin{"in", 0, 1}, Origin{"in", 0, 2}
	produce(t, k, "", letterRecord(first, "v"))
	produce(t, k, "", letterRecord(second, "v"))
	produce(t, k, "", &kgo.Record{Topic: queue, Key: []byte(second.String())})
	open := client(t, k, kgo.TransactionalID("open"))
	_ = open.BeginTransaction()
	if err := open.ProduceSync(t.Context(), letterRecord(Origin{"in", 0, 3}, "v")).FirstErr(); err != nil {
		t.Fatal(err)
	}
	c.Compact()
	got, err := ListDeadLetters(t.Context(), k, queue, DeadLetterFilter{})
	if err != nil || len(got) != 1 || got[0].Origin != first {
		t.Fatalf("%v, %v", got, err)
	}
}

func TestScannerReadsWhatAConsumerReads(t *testing.T) {
	_, k := fake(t, kfake.SeedTopics(1, "t"))
	cl := client(t, k, kgo.TransactionalID("tx"))
	for i := range 60 {
		_ = cl.BeginTransaction()
		for j := range i % 7 {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "t", Value: fmt.Appendf(nil, "%d.%d", i, j)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		if err := cl.EndTransaction(t.Context(), kgo.TransactionEndTry(i%3 != 0)); err != nil {
			t.Fatal(err)
		}
	}
	got := committed(t, k, "t")
	reader := client(t, k, kgo.ConsumeTopics("t"), kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	for i := 0; i < len(got); {
		for it := reader.PollFetches(t.Context()).RecordIter(); !it.Done(); i++ {
			if r := it.Next(); i >= len(got) || r.Offset != got[i].Offset || !bytes.Equal(r.Value, got[i].Value) {
				t.Fatalf("record %d is %d=%s", i, r.Offset, r.Value)
			}
		}
	}
	if len(got) == 0 {
		t.Fatal("nothing was read")
	}
}

func TestMalformedDeadLetters(t *testing.T) {
	_, k := fake(t, kfake.SeedTopics(1, "in", queue))
	good, noTime, other := letterRecord(Origin{"in", 0, 1}, "v"), letterRecord(Origin{"in", 0, 2}, "v"), letterRecord(Origin{"in", 0, 3}, "v")
	noTime.Headers[4].Value = []byte("noon")
	other.Key = []byte("in/0/4")
	produce(t, k, "", good, noTime, other, &kgo.Record{Topic: queue, Key: []byte("foreign"), Value: []byte("v")})
	letters, err := ListDeadLetters(t.Context(), k, queue, DeadLetterFilter{})
	if err != nil || len(letters) != 4 {
		t.Fatal(letters, err)
	}
	for i, l := range letters {
		if (l.Malformed != nil) != (i > 0) {
			t.Errorf("dead letter %d (%s): %v", i, l.Name(), l.Malformed)
		}
	}
	if letters[3].Name() != "foreign" {
		t.Errorf("name of a foreign record: %q", letters[3].Name())
	}
	if _, err := ReplayDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue}); err == nil || !strings.Contains(err.Error(), "drop it") {
		t.Errorf("malformed dead letters were replayed: %v", err)
	}
	if got, err := DropDeadLetters(t.Context(), k, letters, ResolveOptions{Topic: queue, By: "me", Why: "foreign"}); err != nil || got.Done != 4 {
		t.Errorf("drop: %+v %v", got, err)
	}
}

func TestParseOrigin(t *testing.T) {
	for _, s := range []string{"in/0/0", "ads.events/23/9223372036854775807"} {
		if o, err := ParseOrigin(s); err != nil || o.String() != s {
			t.Errorf("%s: %v %v", s, o, err)
		}
	}
	for _, s := range []string{"", "in", "in/0", "/0/0", "in/-1/0", "in/0/-1", "in/x/0", "in/0/0/0", "in/2147483648/0"} {
		if o, err := ParseOrigin(s); err == nil {
			t.Errorf("%q is %v", s, o)
		}
	}
}
