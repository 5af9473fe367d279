package stream

// StandbyHandler is a Handler that standbys keep warm, where Processor.WarmStandbys is set. Its
// memory is a function of the rows of its logged tables. So a standby makes it from the rows that
// the standby has, and then gives it each committed change of a row. At a takeover the handler is
// complete, however many rows there are.
//
//	New ─▶ Follow ... ─▶ TakeOver ─▶ Fold, OnTimer ... ─▶ Flush ─▶ commit ...
//	       standby              owner
//
// The handler must guarantee: after any calls of Follow, and TakeOver, it behaves as a handler that
// New makes from the same rows. A standby whose handler returns an error or panics discards it and
// tries again later; a takeover then calls New, as without a standby.
//
// The runtime guarantees:
//
//  1. Before TakeOver it calls Follow, MemoryBytes and Close only, from one goroutine at a time. A
//     standby emits nothing and sets no timers: New and Follow must not use Task.Timers, and
//     Task.Wake has no effect.
//  2. Each transaction that the changelog has after the rows of New is given to Follow once, in
//     order. Where compaction has removed values, a row goes to a later value at once, and rows
//     that changed together may arrive apart. At TakeOver the rows are those of the last
//     transaction.
//  3. TakeOver is called once. If it returns an error or panics, the handler is discarded.
//
// A Rebuilder cannot be kept warm: its memory depends on more than rows. Local tables are not
// followed.
type StandbyHandler interface {
	// Follow gets the changes of the logged tables in one transaction of the owner: each changed
	// row once, as OpPut or OpDelete, by table and key. Until Follow returns, Task.Get, Task.Scan
	// and Task.Range return the rows before the transaction. Keys and values are valid until then.
	Follow(changes []Change) error
	// TakeOver makes the handler the one of the owner. t replaces the Task of New: its owner epoch,
	// input offsets and timers are those of the new owner.
	TakeOver(t Task) error
	// MemoryBytes estimates the memory of the handler. It is called after each Follow and should
	// not count from the start.
	MemoryBytes() int64
}
