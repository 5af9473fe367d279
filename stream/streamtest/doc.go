// Package streamtest runs one task of a processor in memory, without Kafka, Pebble, goroutines or
// build tags. It does what the runtime does with a task: it keeps the inputs, the committed state,
// the timers and the outputs, and it discards what was not committed.
//
//	r := streamtest.New(t, streamtest.Options{Processor: wordCount()})
//	r.Append([]byte("to be"), []byte("or not"))
//	r.Fold(1)      // the handler sees the first record
//	r.Crash()      // a new handler begins with the committed state: nothing
//	r.FoldAll()    // both records
//	r.Commit(1000) // wall time 1000 ms: due timers fire, Flush, state and outputs are committed
//	counts.Get(r, "be") // a state.Table reads committed state
//	r.TakeOutputs()     // the records that were emitted
//
// Event time advances with the records, as in the runtime: timers of event time fire between the
// records of two grains. Wall time is what the test passes to Commit.
//
// Ask calls a function with the handler, Woken reports a Task.Wake, and Commit calls a
// stream.CommitListener. So a handler that answers callers is tested here, too.
//
// A handler of EachRecord and one with Fold and Flush are tested in the same way. Any error or
// panic of the handler fails the test.
//
// It does not test retries of the runtime, takeovers by other processes, or brokers: package
// processorstest does.
package streamtest
