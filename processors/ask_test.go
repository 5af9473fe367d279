//go:build synctests

package processors_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// runTickets runs f with a process that has all partitions.
func runTickets(t *testing.T, partitions int32, f func(t *testing.T, h *processorstest.Harness, a *processorstest.Process)) {
	t.Helper()
	o := processorstest.Options{Processor: (&ticketLog{}).processor(), Partitions: partitions, NoRefold: true, Config: processors.Config{Workers: 1}}
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		a := h.Start("a")
		h.CaughtUp()
		f(t, h, a)
	})
}

// TestWake: a question is answered long before the tick, by each way to wait for the commit. Its
// number is in a snapshot and in the view then.
func TestWake(t *testing.T) {
	runTickets(t, 3, func(t *testing.T, h *processorstest.Harness, a *processorstest.Process) {
		rt, ctx := a.Runtime(), t.Context()
		for i := range 20 {
			p := int32(i % 3)
			began := time.Now()
			how := []func(context.Context, *processors.Runtime, int32, string) (uint64, error){askPark, askCommitted}[i/3%2]
			n, err := how(ctx, rt, p, fmt.Sprint(i))
			took := time.Since(began)
			if want := uint64(i/3 + 1); n != want || err != nil {
				t.Fatalf("question %d: %d, %v, want %d", i, n, err, want)
			}
			if took > 100*time.Millisecond {
				t.Errorf("question %d took %s, the tick is 1s", i, took)
			}
			snap, err := rt.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			if v, err := snap.Get(p, 1, fmt.Append(nil, i)); v == nil || err != nil {
				t.Errorf("question %d: its number is not in the store: %v", i, err)
			}
			if err := snap.Close(); err != nil {
				t.Error(err)
			}
			if hd, err := processors.HandlerOf[*tickets](rt, p); err != nil || hd.view.Load() != n {
				t.Errorf("question %d: the view is not at %d: %v", i, n, err)
			}
			<-time.After(7 * time.Millisecond)
		}
		// A question that changes nothing waits for no transaction.
		seq := a.Status(0).Sequence
		if n, err := askCommitted(ctx, rt, 0, "0"); n != 1 || err != nil {
			t.Errorf("the same id: %d, %v", n, err)
		}
		if s := a.Status(0).Sequence; s != seq {
			t.Errorf("a question without changes made a transaction: %d, %d", seq, s)
		}
	})
}

// TestWakeIsCoalesced: many requests make one commit, and a handler that was discarded makes none.
func TestWakeIsCoalesced(t *testing.T) {
	runTickets(t, 1, func(t *testing.T, h *processorstest.Harness, a *processorstest.Process) {
		hd, err := processors.HandlerOf[*tickets](a.Runtime(), 0)
		if err != nil {
			t.Fatal(err)
		}
		seq := a.Status(0).Sequence
		a.FreezeAt(processorstest.Flushed)
		first := make(chan error, 1)
		go func() { _, err := askCommitted(t.Context(), a.Runtime(), 0, "first"); first <- err }()
		_ = a.Await() // in the commit: what comes now is for the next one
		answers := make(chan error, 300)
		for i := range cap(answers) {
			go func() {
				for range 10 {
					hd.Wake()
				}
				_, err := askPark(t.Context(), a.Runtime(), 0, fmt.Sprint(i))
				answers <- err
			}()
		}
		<-time.After(time.Millisecond)
		a.Thaw()
		if err := <-first; err != nil {
			t.Error(err)
		}
		for range cap(answers) {
			if err := <-answers; err != nil {
				t.Error(err)
			}
		}
		<-time.After(time.Millisecond) // the status is published after the answers
		if s := a.Status(0).Sequence; s != seq+2 {
			t.Errorf("%d transactions for two rounds of questions", s-seq)
		}
		a.Stop()
		hd.Wake()
		if err := processors.Ask(t.Context(), a.Runtime(), 0, func(*tickets) error { return nil }); !errors.Is(err, processors.ErrNotRunning) {
			t.Errorf("after the stop: %v", err)
		}
		b := h.Start("b")
		h.CaughtUp()
		seq = b.Status(0).Sequence
		hd.Wake()
		<-time.After(3 * time.Second)
		if s := b.Status(0).Sequence; s != seq {
			t.Errorf("a discarded handler made %d transactions", s-seq)
		}
	})
}

// restless is a handler that wakes itself after each commit, with a change to commit, until it has
// seen its records.
type restless struct {
	*tickets
	commits *int
	unread  *int
}

func (h restless) Fold(b *stream.Batch) error {
	*h.unread -= len(b.Records)
	return h.tickets.Fold(b)
}

func (h restless) Committed(sequence uint64) {
	h.tickets.Committed(sequence)
	if *h.commits++; *h.unread > 0 && *h.commits < 1000 {
		_, _, _ = h.take(fmt.Sprint("own ", sequence))
		h.Wake()
	}
}

// TestWokenTaskReads: a task that is woken before each of its polls still gets its records.
func TestWokenTaskReads(t *testing.T) {
	commits, unread := 0, 20
	proc := (&ticketLog{}).processor()
	made := proc.New
	proc.New = func(t stream.Task) (stream.Handler, error) {
		h, err := made(t)
		return restless{h.(*tickets), &commits, &unread}, err
	}
	o := processorstest.Options{Processor: proc, Partitions: 1, NoRefold: true, Config: processors.Config{Workers: 1}}
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		for i := range unread / 2 {
			h.Produce("in", 0, "", fmt.Sprint("before ", i))
		}
		h.Start("a")
		h.CaughtUp()
		for i := range unread {
			h.Produce("in", 0, "", fmt.Sprint("after ", i))
		}
		h.CaughtUp()
		if t.Logf("%d transactions", commits); commits >= 1000 {
			t.Error("the records were read after the handler was woken no longer")
		}
	})
}

// TestAskErrors: each reason for no answer has an error of its own, and the question is not put
// then.
func TestAskErrors(t *testing.T) {
	slow := make(chan struct{})
	l := &ticketLog{}
	proc := l.processor()
	made := proc.New
	proc.New = func(t stream.Task) (stream.Handler, error) {
		if t.Partition == 1 {
			<-slow
		}
		return made(t)
	}
	o := processorstest.Options{Processor: proc, Partitions: 3, NoRefold: true, Config: processors.Config{Workers: 1, PoisonLimit: 1}}
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		slow = make(chan struct{}) // of the bubble
		a := h.Start("a")
		rt := a.Runtime()
		refused := func(ctx context.Context, p int32, want error, text string) {
			t.Helper()
			for _, ask := range []func(context.Context, *processors.Runtime, int32, func(*tickets) error) error{processors.Ask[*tickets], processors.AskCommitted[*tickets]} {
				if err := ask(ctx, rt, p, func(*tickets) error { t.Error("the question was put"); return nil }); !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
					t.Errorf("partition %d: %v, want %v with %q", p, err, want, text)
				}
			}
		}
		running := func(p int32) func() bool {
			return func() bool { return a.Status(p).State == processors.StateRunning }
		}
		h.WaitFor("partition 0 runs", time.Minute, running(0))
		refused(t.Context(), 1, processors.ErrRestoring, "ask again")
		refused(t.Context(), 7, processors.ErrNoPartition, "0 to 2")
		refused(t.Context(), -1, processors.ErrNoPartition, "0 to 2")
		close(slow)
		h.CaughtUp()

		// A caller that waits no longer.
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		refused(gone, 0, context.Canceled, "")
		a.FreezeAt(processorstest.Flushed)
		go func() { _, _ = askCommitted(t.Context(), rt, 0, "x") }()
		_ = a.Await()
		late, cancelLate := context.WithTimeout(t.Context(), time.Second)
		refused(late, 0, context.DeadlineExceeded, "")
		cancelLate()
		wait, cancelWait := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		for range 1023 { // and the one that was just given up
			waiting.Go(func() {
				_ = processors.Ask(wait, rt, 0, func(*tickets) error { return nil })
			})
		}
		<-time.After(time.Millisecond)
		refused(t.Context(), 0, processors.ErrBusy, "ask less often")
		cancelWait()
		waiting.Wait()
		a.Thaw()
		h.WaitFor("the questions are taken", time.Minute, func() bool {
			return processors.Ask(t.Context(), rt, 0, func(*tickets) error { return nil }) == nil
		})

		// The type of the handler.
		if err := processors.Ask(t.Context(), rt, 0, func(*stream.Context) error { return nil }); err == nil || !strings.Contains(err.Error(), "*processors_test.tickets") {
			t.Errorf("a question for another type: %v", err)
		}
		if _, err := processors.HandlerOf[*ticketLog](rt, 0); err == nil {
			t.Error("a handler of another type")
		}
		own := errors.New("own")
		if err := processors.AskCommitted(t.Context(), rt, 0, func(*tickets) error { return own }); err != own {
			t.Errorf("an error of the function: %v", err)
		}

		b := h.Start("b")
		other := int32(0)
		h.WaitFor("process b has a partition", time.Minute, func() bool {
			for p := range int32(3) {
				if b.Status(p).State == processors.StateRunning {
					other = p
					return true
				}
			}
			return false
		})
		refused(t.Context(), other, processors.ErrNotOwned, "process a")
		if n, err := askPark(t.Context(), b.Runtime(), other, "y"); n == 0 || err != nil {
			t.Errorf("the other process: %d, %v", n, err)
		}
	})
}

// TestAskPanics: a question that panics gets an error, and leaves no trace. The records of its
// transaction are folded again, and other partitions are not touched.
func TestAskPanics(t *testing.T) {
	runTickets(t, 2, func(t *testing.T, h *processorstest.Harness, a *processorstest.Process) {
		rt := a.Runtime()
		h.Produce("in", 0, "", "r1")
		err := processors.AskCommitted(t.Context(), rt, 0, func(q *tickets) error {
			q.last += 1 << 40 // half done
			panic("of the question")
		})
		if err == nil || !strings.Contains(err.Error(), "of the question") {
			t.Errorf("the error is %v", err)
		}
		h.CaughtUp()
		if n, err := askPark(t.Context(), rt, 0, "x"); n != 2 || err != nil {
			t.Errorf("after the panic: %d, %v, want 2", n, err)
		}
		if n, err := askCommitted(t.Context(), rt, 0, "r1"); n != 1 || err != nil {
			t.Errorf("the record: %d, %v, want 1", n, err)
		}
		if e := a.Status(1).OwnerEpoch; e != 1 {
			t.Errorf("the other partition has owner epoch %d", e)
		}
	})
}

// panicky is a handler whose Committed panics.
type panicky struct {
	*tickets
	often *int
}

func (p panicky) Committed(sequence uint64) {
	if p.tickets.Committed(sequence); *p.often > 0 {
		*p.often--
		panic("of the report")
	}
}

// TestCommittedPanics: after a panic of Committed the task continues with a new handler. After too
// many in a row it stops, and nothing is lost or doubled.
func TestCommittedPanics(t *testing.T) {
	for often, stops := range map[int]bool{1: false, 5: false, 100: true} {
		l := &ticketLog{}
		proc := l.processor()
		made := proc.New
		proc.New = func(t stream.Task) (stream.Handler, error) {
			h, err := made(t)
			return panicky{h.(*tickets), &often}, err
		}
		o := processorstest.Options{Processor: proc, Partitions: 1, NoRefold: true, Config: processors.Config{Workers: 1}}
		processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
			a := h.Start("a")
			h.CaughtUp()
			for i := range 10 {
				var n uint64
				err := processors.ErrRestoring
				for ; errors.Is(err, processors.ErrRestoring); <-time.After(10 * time.Millisecond) {
					err = processors.AskCommitted(t.Context(), a.Runtime(), 0, func(q panicky) (err error) {
						n, _, err = q.take(fmt.Sprint(i))
						return err
					})
				}
				if stops && i >= 6 {
					if !errors.Is(err, processors.ErrStopped) || !strings.Contains(err.Error(), "of the report") {
						t.Errorf("question %d: %v, want a stopped partition", i, err)
					}
					return
				}
				if err != nil || n != uint64(i+1) { // committed, and reported
					t.Errorf("question %d: %d, %v", i, n, err)
				}
			}
		})
	}
}

// TestZombieReportsNothing: a process that is frozen in a commit reports nothing after another has
// its partition, and its callers learn that they have no answer.
func TestZombieReportsNothing(t *testing.T) {
	for _, at := range []processorstest.Failpoint{processorstest.Flushed, processorstest.Produced, processorstest.Written} {
		l := &ticketLog{}
		o := processorstest.Options{Processor: l.processor(), Partitions: 1, NoRefold: true, Config: processors.Config{Workers: 1}}
		processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
			a := h.Start("a")
			h.CaughtUp()
			if n, err := askPark(t.Context(), a.Runtime(), 0, "before"); n != 1 || err != nil {
				t.Fatal(n, err)
			}
			a.FreezeAt(at)
			answers := make(chan error, 2)
			go func() { _, err := askPark(t.Context(), a.Runtime(), 0, "parked"); answers <- err }()
			go func() { _, err := askCommitted(t.Context(), a.Runtime(), 0, "waits"); answers <- err }()
			_ = a.Await()
			b := h.Start("b")
			h.CaughtUp()
			epoch := b.Status(0).OwnerEpoch
			if n, err := askPark(t.Context(), b.Runtime(), 0, "after"); n != 2 || err != nil {
				t.Errorf("the new owner: %d, %v", n, err)
			}
			l.mu.Lock()
			seen := len(l.reports)
			l.mu.Unlock()
			a.Thaw()
			for range cap(answers) {
				if err := <-answers; !errors.Is(err, errNoAnswer) && !errors.Is(err, processors.ErrNotCommitted) && !errors.Is(err, processors.ErrNotOwned) && !errors.Is(err, processors.ErrRestoring) {
					t.Errorf("%s: a caller of the zombie: %v", at, err)
				}
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			for _, r := range l.reports[seen:] {
				if r.epoch < epoch {
					t.Errorf("%s: the zombie gets a report of %+v", at, r)
				}
			}
		})
	}
}
