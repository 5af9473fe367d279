package stream_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/weirhq/weir/stream"
)

// committed is what the runtime keeps of one task: the state and the outputs of the transactions
// that were committed.
type committed struct {
	processor stream.Processor
	tables    map[string][]byte  // by table number and key
	outputs   map[int32][]string // by partition
	next      int64              // of the control topic
}

func newCommitted(p stream.Processor) *committed {
	return &committed{processor: p, tables: map[string][]byte{}, outputs: map[int32][]string{}}
}

// sourceTask is a handler of a source, as the runtime sees it.
type sourceTask interface {
	stream.Handler
	stream.Closer
}

func (k *committed) open() sourceTask {
	h, err := k.processor.New(stream.Task{Get: k.get, Range: k.scan, Next: map[string]int64{"mirror.control": k.next}})
	if err != nil {
		panic(err)
	}
	return h.(sourceTask)
}

func (k *committed) get(table byte, key []byte) ([]byte, error) {
	return bytes.Clone(k.tables[string(table)+string(key)]), nil
}

func (k *committed) scan(table byte, from, to []byte, fn func(key, value []byte) error) error {
	for _, at := range slices.Sorted(maps.Keys(k.tables)) {
		key := at[1:]
		if at[0] != table || key < string(from) || to != nil && key >= string(to) {
			continue
		}
		if err := fn([]byte(key), k.tables[at]); err != nil {
			return err
		}
	}
	return nil
}

// flush returns the changes of a transaction.
func (k *committed) flush(h stream.Handler) (*stream.Changes, error) {
	ch := &stream.Changes{}
	ch.SetOutputs(k.processor.Outputs)
	err := h.Flush(stream.Commit{}, ch)
	return ch, errors.Join(err, ch.Err())
}

// commit commits a transaction of h.
func (k *committed) commit(h stream.Handler) {
	ch, err := k.flush(h)
	if err != nil {
		panic(err)
	}
	k.apply(ch)
}

func (k *committed) apply(ch *stream.Changes) {
	for _, c := range ch.List {
		switch c.Op {
		case stream.OpPut:
			k.tables[string(c.Table)+string(c.Key)] = bytes.Clone(c.Value)
		case stream.OpDelete:
			delete(k.tables, string(c.Table)+string(c.Key))
		case stream.OpEmit:
			k.outputs[c.To.Partition] = append(k.outputs[c.To.Partition], string(c.Value))
		default:
			panic(c.Op)
		}
	}
}

// count is the number of records in the outputs.
func (k *committed) count() (n int) {
	for _, list := range k.outputs {
		n += len(list)
	}
	return n
}

// history runs a mirror through a random history: appends to the remote log, transactions that
// commit, transactions that are aborted, crashes, restarts, and a former owner that still reads and
// flushes but whose transactions are fenced. It returns what is wrong with the outputs.
func history(t *testing.T, seed uint64, open func(*remoteLog) func(stream.Task) (stream.Source, error)) (wrong error) {
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(seed, 1))
		partitions := 1 + rng.IntN(4)
		log := newRemoteLog(partitions)
		k := newCommitted(stream.Processor{Outputs: stream.OutputTopics("copies"), New: stream.FromSource(1+rng.IntN(2000), open(log))})
		var owner, former sourceTask
		restart := func() {
			if former != nil {
				former.Close()
			}
			former, owner = owner, k.open()
		}
		restart()
		steps := 50 + rng.IntN(150)
		for range steps {
			switch rng.IntN(9) {
			case 0, 1, 2:
				p := rng.IntN(partitions)
				for range rng.IntN(8) {
					log.append(p, fmt.Sprintf("%d-%d", p, len(log.partitions[p])))
				}
			case 3, 4, 5:
				k.commit(owner)
			case 6: // the transaction is aborted, and the runtime opens a new handler
				if _, err := k.flush(owner); err != nil {
					t.Error(err)
				}
				owner.Close()
				owner = k.open()
			case 7: // a crash: another process takes over, and the former owner has not noticed yet
				restart()
			case 8: // the transaction of the former owner is fenced
				if former != nil {
					_, _ = k.flush(former)
				}
			}
			if rng.IntN(2) == 0 {
				synctest.Wait() // the readers have read, or wait for room in the queue
			}
		}
		for range 200 { // the queue may be smaller than a batch
			synctest.Wait()
			k.commit(owner)
		}
		owner.Close()
		if former != nil {
			former.Close()
		}
		for p, want := range log.partitions {
			if got := k.outputs[int32(p)]; !slices.Equal(got, want) {
				wrong = errors.Join(wrong, fmt.Errorf("partition %d: copied %v of %v", p, got, want))
			}
		}
	})
	return wrong
}

// TestSourceHistories holds that each remote record is emitted once, and in order, in random
// histories.
func TestSourceHistories(t *testing.T) {
	for seed := range uint64(300) {
		if err := history(t, seed, mirrorSource); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// brokenMirror is a mirror with a bug: it breaks an obligation of a source.
type brokenMirror struct {
	*mirror
	push func(m *mirror, ctx context.Context, q *stream.SourceQueue, partition, next uint64, values []string)
}

func (m *brokenMirror) Read(ctx context.Context, q *stream.SourceQueue) error {
	for ctx.Err() == nil {
		for p := range uint64(len(m.log.partitions)) {
			m.log.mu.Lock()
			values, grown := m.log.partitions[p][m.next[p]:], m.log.grown
			m.log.mu.Unlock()
			if len(values) > 0 {
				m.next[p] += uint64(len(values))
				m.push(m.mirror, ctx, q, p, m.next[p], values)
			} else if p == uint64(len(m.log.partitions)-1) {
				select {
				case <-grown:
				case <-ctx.Done():
				}
			}
		}
	}
	return nil
}

// TestSourceHistoriesFindBugs is the mutation test of TestSourceHistories.
func TestSourceHistoriesFindBugs(t *testing.T) {
	records := func(b *stream.SourceBatch, partition uint64, values []string) {
		for _, v := range values {
			b.EmitTo("copies", int32(partition), stream.Message{Value: []byte(v)})
		}
	}
	type pushFunc = func(m *mirror, ctx context.Context, q *stream.SourceQueue, partition, next uint64, values []string)
	for name, push := range map[string]pushFunc{
		"the position is in a batch after the records": func(m *mirror, ctx context.Context, q *stream.SourceQueue, partition, next uint64, values []string) {
			b, position := &stream.SourceBatch{}, &stream.SourceBatch{}
			records(b, partition, values)
			m.positions.Put(position, partition, next)
			_ = errors.Join(q.Push(ctx, b), q.Push(ctx, position))
		},
		"the position is in a batch before the records": func(m *mirror, ctx context.Context, q *stream.SourceQueue, partition, next uint64, values []string) {
			b, position := &stream.SourceBatch{}, &stream.SourceBatch{}
			records(b, partition, values)
			m.positions.Put(position, partition, next)
			_ = errors.Join(q.Push(ctx, position), q.Push(ctx, b))
		},
		"the position is not kept": func(_ *mirror, ctx context.Context, q *stream.SourceQueue, partition, _ uint64, values []string) {
			b := &stream.SourceBatch{}
			records(b, partition, values)
			_ = q.Push(ctx, b)
		},
		"the position is that of the last record": func(m *mirror, ctx context.Context, q *stream.SourceQueue, partition, next uint64, values []string) {
			b := &stream.SourceBatch{}
			records(b, partition, values)
			m.positions.Put(b, partition, next-1)
			_ = q.Push(ctx, b)
		},
		"the records are pushed by a goroutine of their own": func(m *mirror, ctx context.Context, q *stream.SourceQueue, partition, next uint64, values []string) {
			b := &stream.SourceBatch{}
			records(b, partition, values)
			m.positions.Put(b, partition, next)
			go func() { _ = q.Push(ctx, b) }()
		},
	} {
		broken := func(log *remoteLog) func(stream.Task) (stream.Source, error) {
			open := mirrorSource(log)
			return func(t stream.Task) (stream.Source, error) {
				s, err := open(t)
				return &brokenMirror{s.(*mirror), push}, err
			}
		}
		found := false
		for seed := uint64(0); seed < 100 && !found; seed++ {
			found = history(t, seed, broken) != nil
		}
		if !found {
			t.Errorf("%s: no history found it", name)
		}
	}
}

// scripted is a source of which a test decides what it does.
type scripted struct {
	read   func(ctx context.Context, q *stream.SourceQueue) error
	closed int
}

func (s *scripted) Read(ctx context.Context, q *stream.SourceQueue) error { return s.read(ctx, q) }
func (s *scripted) Close()                                                { s.closed++ }

// controlled is a scripted source that takes control records.
type controlled struct {
	*scripted
	folded []string
}

func (s *controlled) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		s.folded = append(s.folded, string(r.Value))
	}
	return nil
}

func (s *controlled) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, v := range s.folded {
		ch.Emit("copies", stream.Message{Key: []byte(v)})
	}
	s.folded = nil
	return nil
}

func openScripted(t *testing.T, queueBytes int, s stream.Source) (*committed, sourceTask) {
	t.Helper()
	k := newCommitted(stream.Processor{
		Outputs: stream.OutputTopics("copies"),
		New:     stream.FromSource(queueBytes, func(stream.Task) (stream.Source, error) { return s, nil }),
	})
	return k, k.open()
}

func batchOf(values ...string) *stream.SourceBatch {
	b := &stream.SourceBatch{}
	for _, v := range values {
		b.EmitTo("copies", 0, stream.Message{Value: []byte(v)})
	}
	return b
}

// TestSourceReadsFromTheFirstFlush holds that a task that is only inspected reads nothing, and that
// Close waits for Read, once.
func TestSourceReadsFromTheFirstFlush(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, running := 0, false
		s := &scripted{read: func(ctx context.Context, _ *stream.SourceQueue) error {
			reads, running = reads+1, true
			<-ctx.Done()
			running = false
			return ctx.Err()
		}}
		_, h := openScripted(t, 0, s)
		synctest.Wait()
		h.Close()
		if reads != 0 || s.closed != 1 {
			t.Errorf("an inspected task: %d reads, %d times closed", reads, s.closed)
		}
		k, h := openScripted(t, 0, s)
		k.commit(h)
		k.commit(h)
		synctest.Wait()
		h.Close()
		if reads != 1 || running || s.closed != 2 {
			t.Errorf("an owned task: %d reads, reads after Close: %t, %d times closed", reads, running, s.closed)
		}
	})
}

// TestSourceBackPressure holds that a source that is faster than its flushes blocks in Push, and
// that a Push after the end of its context takes nothing.
func TestSourceBackPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const bound, batchBytes = 1000, 1 + 64 + 10 // see SourceQueue.Bytes
		var queue *stream.SourceQueue
		pushed, after := 0, error(nil)
		s := &scripted{read: func(ctx context.Context, q *stream.SourceQueue) error {
			queue = q
			for q.Push(ctx, batchOf(strings.Repeat("x", 10))) == nil {
				pushed++
			}
			after = q.Push(ctx, batchOf("after"))
			return nil
		}}
		k, h := openScripted(t, bound, s)
		k.commit(h)
		synctest.Wait()
		k.outputs = map[int32][]string{}
		for round := range 3 {
			synctest.Wait()
			waiting := queue.Bytes()
			if waiting < bound || waiting >= bound+batchBytes {
				t.Errorf("round %d: %d bytes wait, the bound is %d", round, waiting, bound)
			}
			before := k.count()
			k.commit(h)
			if n := k.count() - before; n != waiting/batchBytes {
				t.Errorf("round %d: %d records of %d bytes were handed over", round, n, waiting)
			}
		}
		synctest.Wait()
		h.Close()
		if !errors.Is(after, context.Canceled) {
			t.Errorf("a Push after Close: %v", after)
		}
		if pushed == 0 {
			t.Error("nothing was pushed")
		}
	})
}

// TestSourceErrors holds that the batches before an error of Read are handed over before it, that
// an error fails the Flush, and that a source that ends without an error does not.
func TestSourceErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("the remote log has another format")
		k, h := openScripted(t, 0, &scripted{read: func(ctx context.Context, q *stream.SourceQueue) error {
			return errors.Join(q.Push(ctx, batchOf("a", "b")), broken)
		}})
		k.commit(h)
		synctest.Wait()
		k.commit(h)
		if got := k.outputs[0]; !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("before the error came %q", got)
		}
		if _, err := k.flush(h); !errors.Is(err, broken) {
			t.Errorf("the Flush after the error: %v", err)
		}
		h.Close()

		k, h = openScripted(t, 0, &scripted{read: func(ctx context.Context, q *stream.SourceQueue) error { return q.Push(ctx, batchOf("a")) }})
		for range 3 {
			k.commit(h)
			synctest.Wait()
		}
		h.Close()
		if k.count() != 1 {
			t.Errorf("%d records of a source with one", k.count())
		}

		for name, b := range map[string]*stream.SourceBatch{
			`emit to output "other"`: func() *stream.SourceBatch {
				b := &stream.SourceBatch{}
				b.Emit("other", stream.Message{})
				return b
			}(),
			"partition -2": func() *stream.SourceBatch {
				b := batchOf("a")
				b.EmitTo("copies", -2, stream.Message{})
				return b
			}(),
		} {
			k, h = openScripted(t, 0, &scripted{read: func(ctx context.Context, q *stream.SourceQueue) error { return q.Push(ctx, b) }})
			k.commit(h)
			synctest.Wait()
			if _, err := k.flush(h); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("a batch that cannot be handed over: %v", err)
			}
			h.Close()
		}
	})
	if _, err := stream.FromSource(-1, nil)(stream.Task{}); err == nil {
		t.Error("a queue of -1 bytes is accepted")
	}
}

// TestSourceControlRecords holds that a source takes control records if it is a Handler, that its
// Flush comes after the batches, and that other control records are rejected.
func TestSourceControlRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control := func(h sourceTask) []stream.Reject {
			b := &stream.Batch{Records: []stream.Record{{Value: []byte("scan")}}}
			if err := h.Fold(b); err != nil {
				t.Error(err)
			}
			return b.Rejects
		}
		push := &scripted{read: func(ctx context.Context, q *stream.SourceQueue) error {
			b := batchOf("batch")
			b.OnFlush(func(c stream.Commit, ch *stream.Changes) {
				ch.EmitTo("copies", 0, stream.Message{Value: []byte("hook")})
			})
			return q.Push(ctx, b)
		}}
		k, h := openScripted(t, 0, &controlled{scripted: push})
		k.commit(h)
		synctest.Wait()
		if r := control(h); len(r) > 0 {
			t.Errorf("a source that takes control records rejects %v", r)
		}
		ch, err := k.flush(h)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range ch.List {
			got = append(got, string(c.Key)+string(c.Value))
		}
		if want := []string{"batch", "hook", "scan"}; !slices.Equal(got, want) {
			t.Errorf("a transaction of %q, want %q", got, want)
		}
		h.Close()
		for name, s := range map[string]stream.Source{"a source without control records": push, "no source": nil} {
			k, h := openScripted(t, 0, s)
			k.commit(h)
			if r := control(h); len(r) != 1 || r[0].Reason != "no_control" {
				t.Errorf("%s rejects %v", name, r)
			}
			h.Close()
		}
	})
}

// TestSmallBatchesAreSmall holds that a batch of one record does not take the room of the Changes
// of a task: a queue may hold thousands.
func TestSmallBatchesAreSmall(t *testing.T) {
	const batches = 1000
	keep := make([]*stream.SourceBatch, batches)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i := range keep {
		keep[i] = batchOf("x")
	}
	runtime.ReadMemStats(&after)
	if each := (after.TotalAlloc - before.TotalAlloc) / batches; each > 4096 || len(keep[0].List) != 1 {
		t.Errorf("a batch of one record takes %d bytes", each)
	}
}
