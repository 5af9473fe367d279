// Package ingest turns a file of real ad data into AdEvent records, and drives them into a sink.
//
//	file or stdin ─▶ Source ─▶ lines ─▶ rows ─▶ parser ─▶ Row{Events | Err} ─▶ Run ─▶ Sink (Kafka, a fake)
//	               gunzip    bounded  CSV quotes  ipinyou, openbandit,          └──▶ RejectWriter
//	               counted                        csv, jsonl
//
// Invariants:
//
//  1. No row is lost: every row of the input comes out of Next once, with events or with the reason it was rejected.
//     Together the Raw bytes of all rows are the input, without its header, blank lines and line ends.
//  2. Memory is bounded whatever the input: a row longer than Options.MaxRowBytes is skipped, not buffered, and
//     rejected by its line number; caches and the set of seen ids have fixed limits.
//  3. The same bytes give the same events with the same ids, whatever the file is called. An id that the row carries is
//     kept; any other is a hash of format, row number and row bytes (see deriveID), so that two equal rows at different
//     places are two events.
//  4. What is known to be refused by the counter is refused here: the rejects file is nearer to who can mend it than
//     the dead-letter topic.
//
// Ingesting a file twice counts it once as long as the second run falls into the counter's duplicate window (10
// minutes by default). Beyond the window the counter has forgotten the ids, and the events count again. Two different
// files that hold the same row bytes under the same row number give the same id; Options.IDSpace tells them apart.
//
// It does not: stamp the ingest time (0 = the record's own timestamp), know Kafka, spread rows inside their hour, or
// repair rows.
package ingest
