// Package changes decodes and validates the records of the topic lease.changes for the processors
// that fold them.
//
//	Batch ─▶ Decoder.Each: decode ─▶ Rules ─▶ Prefetch the state rows ─▶ Fold, one change at a time
//	                          │        │
//	                          └────────┴─ stream.RejectError ─▶ Batch.Reject
//
// Each processor has a Decoder with the rules of the rows that it uses. A record that breaks a rule
// goes to the dead-letter topic and never reaches Fold, so it leaves no trace in the state. The
// reasons are a closed set, see Reasons; they are the same in all processors.
//
// Two kinds of rules exist. The Decoder applies the first kind itself: the record is a LeaseChange
// with a row of a known kind, and the names in it are valid. A processor lists the second kind in
// Rules, in the order in which they apply. This package has the rules that several processors need;
// rules of one processor are in the package of that processor.
//
// # What it does not do
//
// It compares no versions: each processor ignores changes that are older than its state. It does
// not validate rows that the processor does not use; another processor may reject them.
package changes
