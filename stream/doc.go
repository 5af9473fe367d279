// Package stream holds the data that passes between the runtime and a core: batches of records in, changes out.
//
//	processors ──Batch──▶ core (a fold: no Kafka, Pebble, clock, goroutine)
//	processors ◀─Changes── core, at the commit
//
// Both are plain memory that the runtime reuses: a core copies what it keeps. A core never sees a second copy of
// a record and never a record out of offset order within one topic and partition.
package stream
