// Package processorstest is a crash harness: it runs a processor under the faults of a production
// cluster. Processes are killed, frozen or cut off. Brokers fail requests, lose answers and move
// leaders. Disks lose what was not synced. Everything runs in one process and in virtual time: ten
// minutes without brokers take milliseconds.
//
//	Run ─▶ bubble of testing/synctest
//	        ├── Harness: three simulated brokers (kfake) with the processor's topics
//	        ├── Process "a": runtime, disk, connection   Kill KillAt Freeze FreezeAt Cut Stop
//	        ├── Process "b" …
//	        └── checks, when the test function has returned
//
// A test starts processes, produces records, injects faults, waits until the processes have caught
// up, and looks at state and outputs:
//
//	func TestWordCount(t *testing.T) {
//		o := processorstest.Options{Processor: wordCount()}
//		processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
//			p := h.Start("a")
//			p.KillAt(processorstest.Written)
//			h.Produce("lines", 0, "", "to be or not to be")
//			p.Await()    // killed, with its transaction open
//			h.Start("a") // again, on the disk that the crash left
//			h.CaughtUp()
//			if n := len(h.State(0, 1)); n != 4 {
//				t.Errorf("%d words, want 4", n)
//			}
//		})
//	}
//
// example_test.go is a complete test to copy.
//
// The build tag synctests makes the mutexes of the Kafka client visible to the bubble. Without it
// Run fails the test:
//
//	go test -tags synctests ./...
//
// When a check fails, the test shows the end of the log. With the environment variable
// WEIR_TEST_LOG set to any value the whole log goes to standard error.
//
// Inside the function that Run calls, use its own t, which belongs to the bubble. time.Sleep takes
// no real time there.
//
// # Checks
//
// Run checks these invariants for every processor, by the numbers of docs/invariants.md:
//
//	RUN-1, RUN-2, RUN-6  One undisturbed handler that folds the same records in the same transactions ends
//	                     with the same state after each transaction and writes the same outputs. So no
//	                     record and no timer is lost, applied twice or invented. See Options.NoRefold.
//	RUN-4                of every store
//	RUN-5                of every store, sampled ten times a second
//	RUN-7                of every partition of the changelog
//
// The first check finds a handler that does not read its state after a takeover, or that uses a
// variable outside of the handler. CaughtUp checks that every partition has one owner. The bubble
// reports goroutines that have not ended.
//
// # Timers
//
// The comparison fires the timers of a stream.TimerHandler again, in the same transactions. Wall
// timers fire by the time in the marker. Timers of event time fire between the records if the
// processor has one input. With several inputs the changelog does not have the order of the
// records: timers of event time fire at the end of the transaction, and the changelog decides
// whether a timer that was set in this transaction fires. A handler whose result depends on the
// order of inputs needs Options.NoRefold.
//
// Harness.AddProcessor runs several processors on the same brokers.
//
// # Limits
//
// The harness does not compact topics (the checks need the whole changelog), has no TLS, and has no
// clock of the day: virtual time begins in the year 2000. A seed does not repeat a run exactly,
// because goroutines are scheduled freely. kfake is simpler than a real broker: test against a real
// one, too.
package processorstest
