package stream

// Handler processes one task: one partition number of all input topics. The runtime calls it from
// one goroutine at a time, in this order:
//
//	New ─▶ Fold, OnTimer ... ─▶ Flush ─▶ commit ─▶ Fold, OnTimer ... ─▶ Flush ─▶ commit ...
//
// # Transactions
//
// All calls since the previous Flush form the open transaction. The handler keeps its changes in
// memory and hands them over in Flush. The runtime then commits them to Kafka together with the
// input offsets, and writes them to the local store. If the transaction does not commit, the
// runtime discards the handler and makes a new one from committed state. A handler therefore needs
// no undo.
//
// # Reads see the last Flush
//
// After Flush has returned, the next call of the handler reads its changes with Task.Get and
// Task.Scan. Inside Flush they return the state as of the Flush before. They never return changes
// of the open transaction: the handler finds those in its own memory. So a handler may forget, in
// Flush and not earlier, the rows that Get can return.
//
// A handler that holds more than memory is a Closer.
type Handler interface {
	// Fold applies the records of b in order, in memory. It passes a record that it refuses to
	// b.Reject and must leave no trace of it. If Fold panics, the runtime discards the handler,
	// folds the batch again record by record, and sends the record that panics to the dead-letter
	// topic. An error means that state could not be read: the runtime abandons the transaction and
	// tries it again.
	Fold(b *Batch) error
	// Flush hands over everything that changed since the last Flush: state as absolute values, and
	// output records. The runtime also calls it once a second without input. If it hands over
	// nothing and nothing was folded, no transaction is written.
	Flush(c Commit, ch *Changes) error
}

// Rebuilder is a Handler with memory that its inputs can rebuild, such as a set of recent ids.
type Rebuilder interface {
	// RebuildFrom returns, per topic, the first offset to read again. Topics whose offset is at or
	// after Task.Next are not read.
	RebuildFrom() map[string]int64
	// Rebuild gets the records of [RebuildFrom, Task.Next) of each topic before the first Fold.
	Rebuild(b *Batch) error
}

// PendingSizer is a Handler that knows about how many bytes its next Flush will hand over. The
// runtime commits before they exceed its limit (processors.Config.CommitBytes).
type PendingSizer interface{ PendingBytes() int }

// CommitListener is a Handler that is called after each of its transactions, for example to answer
// callers. See the section "Questions, commits and views" of the package documentation, which
// numbers what holds.
//
// The changes of such a handler are not kept in the write buffer of a worker that is behind: the
// store has them when Committed is called.
type CommitListener interface {
	// Committed reports that the transaction with this Commit.Sequence has committed. Task.Get
	// returns what it handed over. It should not wait long: the other partitions of the worker wait
	// too. What it changes is part of the next transaction. If it panics, the runtime makes a new
	// handler; after more than five panics in a row the partition stops.
	Committed(sequence uint64)
}

// Closer is a Handler that holds more than memory, such as goroutines that read ahead of Flush. The
// runtime calls Close once, on the goroutine that calls the handler, when it discards the handler:
// after a transaction that did not commit, when the partition moves or stops, at the end of the
// process, and for a handler that was only made to inspect state. It calls nothing after Close.
// Close should not wait long: the other partitions of the worker wait too.
type Closer interface{ Close() }

// TimerHandler is a Handler with timers: Task.Timers sets them.
type TimerHandler interface {
	// OnTimer gets timers of one clock that are due, in order of time and key. nowMs is the
	// watermark or the time of day by which they are due. Each timer fires once: the transaction
	// that fires it removes it. Timers that OnTimer sets and that are due at once come in the next
	// call.
	OnTimer(nowMs int64, due []Timer) error
}
