package processors

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/authored"
)

// maxQuestions is the number of questions that may wait for one task. A turn of the worker answers
// all of them.
const maxQuestions = 1024

// Ask calls fn with the handler of a partition that this process runs, on the goroutine that calls
// the handler, between two batches. H is the type that Processor.New makes, the Source of
// stream.FromSource, or *stream.Context for stream.EachRecord. fn must not wait: all partitions of
// the worker wait with it. The section "Questions, commits and views" of package stream numbers
// what holds.
//
// What fn changes is part of the open transaction, which may still abort. It is committed with the
// next records or after Config.Tick, or at once if fn calls Task.Wake. AskCommitted waits for that.
//
// Ask returns the error of fn as it is. If fn was not called, and will not be called, the error is
// that of ctx, or wraps one of:
//
//	ErrNotOwned     another process has the partition, or none: ask the owner, see Runtime.OwnerOf
//	ErrNoPartition  the processor has no such partition
//	ErrRestoring    the partition is being taken over: ask again after a pause
//	ErrStopped      the partition is stopped until an operator acts
//	ErrBusy         too many questions wait: ask again after a pause
//	ErrNotRunning   Run is not at work
//
// Ask never returns while fn runs. If fn panics, the error has the panic, and the task continues
// with a new handler.
func Ask[H any](ctx context.Context, r *Runtime, partition int32, fn func(h H) error) error {
	return r.ask(ctx, partition, &question{fn: asQuestion(fn)})
}

// AskCommitted is Ask that returns after what fn changed has committed and the store has it, and
// after the handler's Committed. If fn has changed nothing, it returns after the next Flush. An
// error of fn is returned at once.
//
// ErrNotCommitted reports that fn was called, and that its transaction did not commit, or that the
// outcome is not known, or that ctx ended before it was: ask again only what is repeatable.
func AskCommitted[H any](ctx context.Context, r *Runtime, partition int32, fn func(h H) error) error {
	return r.ask(ctx, partition, &question{fn: asQuestion(fn), committed: true})
}

// HandlerOf returns the handler of a partition that this process runs, H as in Ask. It is for what
// the handler publishes for concurrent use, such as views in fields of type atomic.Pointer: every
// other use is a data race. It takes nanoseconds: call it for each read, because a handler is
// replaced after a transaction that did not commit. A process that is cut off from the brokers
// shows what it last committed, as a Snapshot does; see BrokerIdle. The errors are those of Ask.
func HandlerOf[H any](r *Runtime, partition int32) (H, error) {
	in := r.directory().at(partition)
	if in == nil {
		var none H
		return none, r.whyNot(partition)
	}
	return authored.As[H](in.handler)
}

func asQuestion[H any](fn func(h H) error) func(stream.Handler) error {
	return func(h stream.Handler) error { return authored.Ask(h, fn) }
}

// question is a function that a caller wants called with a handler.
type question struct {
	fn        func(stream.Handler) error
	committed bool // the caller waits for the commit
	// taken is set by the first of two: the worker, which then calls fn, and the caller, which then
	// returns without.
	taken  atomic.Bool
	called chan struct{} // closed when fn has returned
	answer chan error    // has room for the one answer
}

// ask passes q to the handler of a partition and waits for the answer.
func (r *Runtime) ask(ctx context.Context, p int32, q *question) error {
	q.called, q.answer = make(chan struct{}), make(chan error, 1)
	in := r.directory().at(p)
	if in == nil {
		return r.whyNot(p)
	}
	if err := ctx.Err(); err != nil {
		return err //nolint:wrapcheck // the caller's own
	}
	if in.waiting.Add(1) > maxQuestions {
		in.waiting.Add(-1)
		return fmt.Errorf("%w: %d questions wait for partition %d of %s: ask again after a pause, or ask less often", ErrBusy, maxQuestions,
			p, r.proc.App)
	}
	in.worker.mailbox.post(func() { in.worker.answer(in, q) })
	select {
	case err := <-q.answer:
		return err
	case <-in.closed:
		if q.taken.CompareAndSwap(false, true) {
			return r.whyNot(p)
		}
		return <-q.answer // given before the inbox was closed
	case <-ctx.Done():
		if q.taken.CompareAndSwap(false, true) {
			return ctx.Err() //nolint:wrapcheck // the caller's own
		}
	}
	<-q.called
	select {
	case err := <-q.answer:
		return err
	default:
		return fmt.Errorf("%w: the caller waits no longer: %w", ErrNotCommitted, ctx.Err())
	}
}

// answer takes a question, in the loop of the worker.
func (w *worker) answer(in *inbox, q *question) {
	in.waiting.Add(-1)
	select {
	case <-in.closed:
		return
	default:
	}
	if in.broken || !q.taken.CompareAndSwap(false, true) {
		return
	}
	defer close(q.called)
	panicked, err := in.task.ask(q.fn)
	switch {
	case panicked:
		in.broken, w.askErr = true, err
		q.answer <- err
	case err != nil || !q.committed:
		q.answer <- err
	default:
		in.task.unanswered = append(in.task.unanswered, q)
		in.woken.Store(true)
	}
}

// ask calls the function of a question.
func (t *task) ask(fn func(stream.Handler) error) (panicked bool, err error) {
	panicked = true
	defer t.recoverPanic("a question", &err)
	err = fn(t.handler)
	return false, err
}

// answerAll answers the callers that wait for a commit.
func (t *task) answerAll(err error) {
	for _, q := range t.unanswered {
		q.answer <- err
	}
	clear(t.unanswered)
	t.unanswered = t.unanswered[:0]
}

// reportCommit reports a transaction that has committed, and that the store has, to the handler.
func (t *task) reportCommit() (err error) {
	defer t.recoverPanic("Committed", &err)
	if l, ok := t.handler.(stream.CommitListener); ok {
		l.Committed(t.seq)
	}
	return nil
}

// reportCommits reports a transaction to its tasks. A task whose handler panics is restarted.
func (w *worker) reportCommits(parts []*taskCommit) {
	var failed []*taskCommit
	for _, part := range parts {
		part.err = part.task.reportCommit()
		part.task.answerAll(nil) // also after a panic: the changes are committed
		if part.err != nil {
			failed = append(failed, part)
			continue
		}
		part.task.failed, part.task.stopReason, part.task.refused = 0, nil, refused{}
	}
	if len(failed) > 0 {
		w.restartTasks(failed)
	}
}

// directory returns the inboxes of the tasks that run in this process.
func (r *Runtime) directory() directory {
	if d := r.inboxes.Load(); d != nil {
		return *d
	}
	return nil
}

// whyNot returns the error of a question to a partition whose handler does not run here.
func (r *Runtime) whyNot(p int32) error {
	if r.inboxes.Load() == nil {
		return ErrNotRunning
	}
	if p < 0 || p >= r.Partitions() {
		return fmt.Errorf("%w: %s has no partition %d, its partitions are 0 to %d", ErrNoPartition, r.proc.App, p, r.Partitions()-1)
	}
	for _, s := range r.Status() {
		switch {
		case s.Partition != p || s.State == StateStandby:
		case s.State == StateStopped:
			return fmt.Errorf("%w: partition %d of %s waits for an operator: %s", ErrStopped, p, r.proc.App, s.Reason)
		default:
			return fmt.Errorf("%w: partition %d of %s gets a new handler: ask again after a pause", ErrRestoring, p, r.proc.App)
		}
	}
	return fmt.Errorf("%w: partition %d of %s does not run in process %s: ask its owner, which Runtime.OwnerOf returns", ErrNotOwned, p,
		r.proc.App, r.cfg.Instance)
}
