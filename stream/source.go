package stream

import "context"

// Source reads another system for one task: see the section Sources of the package documentation,
// which numbers what a source and the runtime guarantee. FromSource makes a Processor.New of it.
//
// A Source that is also a Handler takes the records of the processor's input topics as control
// records, in Fold, and adds to each transaction in Flush, which is called after the batches of the
// transaction were handed over. Both are called while Read runs. If the source is not a Handler,
// control records are rejected with reason "no_control". Other interfaces of handlers, such as
// TimerHandler, are not for sources.
//
// A Source that is also a CommitListener is called after each transaction, while Read runs. A
// Source that is also a Closer is closed after Read has returned, or without a Read.
type Source interface {
	// Read reads from the positions with which the source was opened, and pushes batches until ctx
	// ends. It is called at most once, on a goroutine of its own, and may start others, which it
	// awaits. A panic in it ends the process.
	//
	// If Read returns an error before ctx ends, the batches that it has pushed are handed over, and
	// then a Flush fails with the error. The runtime opens the source again, and stops the
	// partition after several failures in a row without a commit between. So an outage of the other
	// system is not an error: Read tries again, with pauses, until ctx ends. If Read returns nil
	// before ctx ends, nothing is left to read.
	Read(ctx context.Context, q *SourceQueue) error
}

// SourceBatch is what a Source hands over in one transaction or not at all: output records, and the
// positions after them. It is filled like the Changes of a Flush, by one goroutine at a time. The
// zero value is ready.
type SourceBatch struct {
	Changes

	onFlush []func(Commit, *Changes)
}

// OnFlush makes the Flush that hands the batch over call fn, after the batch's own changes, on the
// goroutine of the handler. fn may add to the transaction. It is for what depends on the batches
// before, such as a limit of records per second.
func (b *SourceBatch) OnFlush(fn func(c Commit, ch *Changes)) { b.onFlush = append(b.onFlush, fn) }

// Empty reports whether the batch hands nothing over.
func (b *SourceBatch) Empty() bool { return len(b.List)+len(b.onFlush) == 0 && b.Err() == nil }

// changeOverhead is what a change in a queue counts beside its key and value, in bytes.
const changeOverhead = 64

func (b *SourceBatch) size() int { return b.Bytes() + changeOverhead*len(b.List) + 1 }

func (b *SourceBatch) handOver(c Commit, ch *Changes) {
	ch.adopt(&b.Changes)
	for _, fn := range b.onFlush {
		fn(c, ch)
	}
}
