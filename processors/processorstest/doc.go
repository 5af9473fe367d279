// Package processorstest tests a processor of yours against what goes wrong: processes that die, freeze or are cut off,
// brokers that fail requests, lose answers and move leaders, disks that lose what was not synced. All of it runs in one
// process and in virtual time: ten minutes without brokers take a blink.
//
//	Run ─▶ bubble of testing/synctest
//	        ├── World: three brokers (kfake), the processor's topics
//	        ├── Process "a": Runtime, its disk, its link to the brokers   Kill KillAt Freeze Cut Stop
//	        ├── Process "b" …
//	        └── Judge, at the end by itself
//
// A test starts processes, produces, breaks things, waits until all is caught up, and looks:
//
//	func TestWordCount(t *testing.T) {
//		processorstest.Run(t, processorstest.Options{Processor: wordCount()}, func(t *testing.T, w *processorstest.World) {
//			p := w.Start("a")
//			p.KillAt(processorstest.Written)
//			w.Produce("lines", 0, "", "to be or not to be")
//			p.Await()    // it died with its transaction open
//			w.Start("a") // again, on the disk as the crash left it
//			w.CaughtUp()
//			if n := len(w.State(0, 1)); n != 4 {
//				t.Errorf("%d words", n)
//			}
//		})
//	}
//
// example_test.go is a whole one, to copy.
//
// Run it with the build tag synctests, which makes the Kafka client's mutexes visible to the bubble; without it Run ends the
// test and says so:
//
//	go test -tags synctests ./...
//
// Use the t of the function that Run calls: it is the bubble's. In the bubble time.Sleep costs nothing.
//
// What Judge holds a run to, whatever the processor does:
//
//	I1, I2, I6  one handler that nobody disturbs, given the same records and transactions, ends with the same state and
//	            writes the same outputs: nothing lost, nothing twice, nothing invented. See Options.NoRefold.
//	I4          the state of every store is a replay of the changelog up to where the store is
//	I5          no store is ever ahead of what the group has committed: looked at ten times a second
//	I6          a task's transactions are numbered without gap, are never read backwards, never by a former owner
//
// A handler that forgets to read its state after a takeover, or leans on a variable outside, is caught by the first of these.
// That every partition has one owner is a part of CaughtUp. The bubble complains of goroutines that are left.
//
// Processors that work with each other are worlds beside each other, on the same brokers: see World.Beside.
//
// What it does not do: compaction (the judges want the whole changelog), TLS, the clock of the
// day (virtual time begins in 2000). A run is not repeated by its seed: goroutines are scheduled as they please. A real broker
// has more to it than kfake: test against one, too.
package processorstest
