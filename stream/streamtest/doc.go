// Package streamtest runs a core without Kafka and Pebble, as the runtime does: it holds the input,
// tables, timers of the time of day and outputs of one task, and throws away what was not
// committed.
//
//	r := streamtest.New(t, streamtest.Options{Topic: "in", Make: newCore})
//	r.Append(a, b, c)
//	r.Fold(2)        // the core sees a and b
//	r.Crash()        // and is made anew from what was committed: nothing
//	r.Fold(3)
//	r.Commit(1000)   // at 1000 ms: Fire what is due, Flush, apply
//	r.Take()         // what was written to the outputs
//
// It has no event time and no second input.
package streamtest
