// Package state has typed tables over the bytes of package stream.
//
//	                     key, value            bytes
//	your code ──▶ Table ────────────▶ Codecs ────────▶ *stream.Context or *stream.Changes
//	          ◀──       ◀────────────        ◀──────── *stream.Context or stream.Get, stream.Range
//
// A Table describes a table: its number, its name and its codecs. It holds no state, is safe for
// concurrent use, and is made once per program. Processor.Tables lists the tables:
// state.Tables(counts).
//
//	counts := state.Named(1, "counts", state.String{}, state.Uint64{})
//	n, ok, err := counts.Get(c, "word") // c is the *stream.Context of a record function
//	counts.Put(c, "word", n+1)
//
// Keep fills a table from a topic, and Sessions is a table of open sessions with its timers.
//
// A Cache is for handlers of batches, which keep their open transaction themselves. It holds,
// decoded, the rows that changed since the last Flush.
//
// # Values are copies
//
// The store holds bytes. Table.Get decodes a new value each time, so a change of a value is lost
// unless it is Put. Cache.Get returns what the cache holds: it shares slices, maps and pointers
// with later calls. Clone such a value before you change it, then Put it.
//
// # Order
//
// A scan returns rows in the order of the encoded keys. String, Bytes, Uint64, Int64 and Float64
// keep the order of their values. JSON, Proto and Varint do not.
//
// # Evolution
//
// Stored rows outlive the program that wrote them. A codec must read what its earlier versions
// wrote; another codec needs a table with another number.
package state
