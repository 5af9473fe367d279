// Package ingest parses files of ad data to AdEvent records, and files of refunds to Adjustment
// records, and produces them into a sink.
//
//	file, stdin ─▶ Source ─▶ lineReader ─▶ rowReader ─▶ parser ─▶ builder ─▶ Run ─▶ Sink (Kafka)
//	               gunzip    bounded       splitter     jsonl     checks      └──▶ RejectWriter
//	                                       (csv, tabs)  table     derives ids
//	                                                    ipinyou
//	                                                    adjustments
//
// Invariants:
//
//   - SPEND-6: No row is lost: Next returns every row of the input once, with its events or with
//     the reason why it has none. The Raw bytes of all rows together are the input without header,
//     blank lines and line ends.
//   - SPEND-7: Memory is bounded for every input. A row over Options.MaxRowBytes is skipped and not
//     buffered; it is rejected by its line number. Caches and the set of recent ids have fixed
//     limits.
//   - SPEND-8: The same bytes give the same events with the same ids, whatever the file's name is.
//     An id that the row carries is kept. Any other id is a hash of format, the bytes of the row,
//     and the number of equal rows before it (see equalRows). So equal rows of a file are different
//     events, and rows that are deleted, added or moved do not change the ids of the others.
//   - SPEND-9: A price is never converted to a float: decimal digits become whole micros, or the
//     row is rejected.
//   - SPEND-10: Two rows with one reference are one adjustment if they are equal; otherwise the
//     second is rejected. This holds for the last 4 million references of a file. An adjustment
//     needs no import: the counter applies a reference once for ever.
//   - SPEND-11: A row that the spend counter would refuse is rejected here, because the owner of
//     the file sees the rejects file, but not the dead-letter topic.
//
// The events of a Job.Import carry the id of the import and a sequence number per row, so that the
// spend counter applies each event once, whenever the file is ingested again. Rows that were
// rejected and then corrected must be imported as a separate file, because within the import the
// counter is already past them. Equal rows of two files have the same ids; Options.IDSpace
// separates them.
//
// A caller that refuses an input with too many rejected rows reads the input twice: the first Run
// has a Sink that drops the records, and after Source.Rewind the second Run produces them. With the
// same Options.Now both runs reject the same rows.
//
// The package does not stamp the ingest time (0 stands for the record's timestamp), does not speak
// Kafka, does not spread rows within their hour and does not repair rows.
package ingest
