package stream

// Handler is the core of one task. The runtime calls it from one goroutine at a time and throws it away whenever a
// transaction did not commit, so it needs no undo. One that holds more than memory is a Closer.
type Handler interface {
	// Fold applies the records of b in order, in memory. A record it refuses goes to b.Reject and must leave no trace;
	// a panic does the same to the one record that caused it. An error means that state could not be read: the
	// transaction is abandoned and tried again.
	Fold(b *Batch) error
	// Flush hands over everything that changed since the last call: state by absolute values, and outputs. It is also
	// called once a second without input. If it emits nothing and nothing was folded, no transaction is written.
	Flush(c Commit, ch *Changes) error
}

// Rebuilder is a Handler with volatile state that its inputs can rebuild, such as a set of recent ids.
type Rebuilder interface {
	// RebuildFrom gives, per topic, the first offset to read again. Topics at or past Task.Next are not read.
	RebuildFrom() map[string]int64
	// Rebuild sees the records of [WarmFrom, Task.Next) of each topic before the first Fold.
	Rebuild(b *Batch) error
}

// PendingSizer is a Handler that knows about how many bytes its next Flush will hand over. The runtime then commits before they
// exceed Config.CommitBytes.
type PendingSizer interface{ PendingBytes() int }

// Closer is a Handler that holds more than memory, such as goroutines that read ahead of Flush. Close is called once, by the
// goroutine that calls the handler, when it is thrown away: after a transaction that did not commit, when its partition goes
// elsewhere or stops, at the end of the process, and also where it was only made to look at its state. Nothing is called
// after it. It should not wait long: the partitions that share the worker wait too.
type Closer interface{ Close() }

// TimerHandler is a Handler with timers. It gets Task.Timers.
type TimerHandler interface {
	// OnTimer is called with timers of one clock that are due, in order of time and key. nowMs is what they are due by: the
	// watermark, or the time of day. Each fires once: it is forgotten by the transaction that fired it. Those that Fire sets and
	// that are due at once come in the next call.
	OnTimer(nowMs int64, due []Timer) error
}
