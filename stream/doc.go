// Package stream describes stream processors: what a processor's author writes, and the data that
// passes between the runtime (package processors) and a handler.
//
//	go get github.com/weirhq/weir@v0.1.0
//
// A whole program, which counts the records of a topic by their key, each exactly once, with its
// go.mod as far as it matters (go mod tidy adds the indirect requirements):
//
//	module example.com/first
//
//	go 1.26.0
//
//	require github.com/weirhq/weir v0.1.0
//
// main.go:
//
//	// Command first counts the records of topic visits by their key, each exactly once, and writes
//	// every new count to topic totals.
//	package main
//
//	import (
//		"strconv"
//
//		"github.com/weirhq/weir/program"
//		"github.com/weirhq/weir/stream"
//		"github.com/weirhq/weir/stream/state"
//	)
//
//	func main() {
//		counts := state.NewTable(1, state.String{}, state.Uint64{})
//		program.Main(stream.Processor{
//			App: "first", Inputs: []string{"visits"}, Outputs: stream.OutputTopics("totals"),
//			New: stream.EachRecord(func(c *stream.Context, visit *stream.Record) error {
//				n, _, err := counts.Get(c, string(visit.Key))
//				if err != nil {
//					return err
//				}
//				counts.Put(c, string(visit.Key), n+1)
//				c.Emit("totals", stream.Message{Key: visit.Key, Value: strconv.AppendUint(nil, n+1, 10)})
//				return nil
//			}),
//		})
//	}
//
// It creates its topics, keeps its state on disk and in a changelog topic, and shares the
// partitions with other processes of the same program. The flags are those of
// program.Config.SetFlags. Beside this package a program needs:
//
//   - stream/state: typed tables, sessions, tables that a topic fills, and codecs
//   - stream/streamtest: tests of a processor in memory
//   - program: the main function, topics, metrics, and queries over HTTP
//
// examples/visits has them all: sessions, joined with a table of users. The guide is
// docs/write-a-processor.md.
//
// # The model
//
//	            ┌──Batch: records of one topic and partition──▶┐
//	processors ─┤──OnTimer: timers that are due───────────────▶├─ Handler (memory only)
//	            └◀─Changes: state and output records, at Flush─┘
//
// This one adds up the orders of each customer in cents, and writes each new sum. The key of an
// order is its customer, so that all orders of a customer are in one partition:
//
//	sums := state.Named(1, "sums", state.String{}, state.Int64{})
//	out := stream.NewTypedOutput("sums", state.Decimal{})
//	processor := stream.Processor{
//		App: "sums", Outputs: stream.OutputTopics("sums"), Tables: state.Tables(sums),
//		On: []stream.Callback{
//			stream.On("orders", state.JSON[order]{}, func(c *stream.Context, r *stream.Record, o order) error {
//				if o.Cents < 0 {
//					return stream.Rejectf("negative", "the order costs %d", o.Cents)
//				}
//				sum, _, err := sums.Get(c, string(r.Key))
//				if err != nil {
//					return err
//				}
//				sums.Put(c, string(r.Key), sum+o.Cents)
//				out.Emit(c, stream.Message{Key: r.Key}, sum+o.Cents)
//				return nil
//			}),
//		},
//	}
//
// A Processor names its input topics, its changelog, its outputs, and a function that makes the
// Handler of a task. A task is one partition number of all inputs. A handler folds records in
// memory: it uses no Kafka client, no database, no clock and no goroutine. At the end of a
// transaction it returns its Changes. The runtime commits them and the input offsets in one Kafka
// transaction, so that each record counts exactly once.
//
// There are four ways to write a handler:
//
//   - Processor.On has a function and a codec for each input, and a function for each kind of
//     timers: On, OnBytes, OnTimer. Their Context has the state, outputs and timers. Begin with it.
//   - EachRecord makes a handler from a function that is called for each record, with the bytes of
//     the record.
//   - A type with Fold and Flush gets records in batches and keeps the open transaction itself.
//     Write one if the work per record must be small, or to look up all rows of a batch at once.
//   - FromSource makes a handler from a Source, which reads another system. See Sources.
//
// A handler never sees a record twice, and sees the records of one topic and partition in offset
// order. Batches and changes are plain memory that the runtime reuses: a handler copies what it
// keeps.
//
// # Sources
//
// A Source reads another system, such as a change stream of a database or the Kafka cluster of
// another datacentre. Its positions are state of the task: they are committed in one transaction
// with their records. So each record of the other system is emitted exactly once.
//
//	other system             Source                         one Kafka transaction
//	┌──────────┐  Read   ┌────────────┐  Push  ┌───────┐  Flush  ┌ output records
//	│ records  ├────────▶│ goroutines ├───────▶│ queue ├────────▶┤
//	└──────────┘         └────────────┘ blocks └───────┘         └ state: positions
//	                           ▲        when full                       │
//	                           └─────────── open, at a takeover ────────┘
//
// A source must guarantee:
//
//  1. It begins at the positions that open finds in the state of the task. It keeps positions in no
//     other place.
//  2. A SourceBatch holds records together with the position after the last of them.
//  3. Batches of one position are pushed one after another: a Push has returned before the next one
//     of the same position is called.
//  4. From a position it reads the same records in the same order, however often. If the other
//     system has lost records after the position, the source detects it and reports it.
//  5. Read returns soon after its context has ended, and leaves no goroutine.
//  6. open, Fold, Flush and Close make no request and do not wait, because the other tasks of the
//     worker wait for them.
//
// The runtime guarantees:
//
//   - RUN-24: A batch is in one transaction or in none. Batches are handed over in the order of
//     their Pushes, within a transaction and from one transaction to the next.
//   - RUN-25: Read begins at the first Flush of a task that owns its partition. A task that is
//     opened to inspect its state reads nothing.
//   - RUN-26: One source at a time commits for a partition. A former owner may still read after a
//     takeover, but Kafka fences its transactions.
//   - RUN-27: A transaction that does not commit, a restart and a takeover end the source. What was
//     pushed and not committed is discarded. The next source is opened with the positions of the
//     last transaction that was committed, whatever process wrote it.
//   - RUN-28: Nothing is handed over after Close, and Close returns after Read.
//   - RUN-29: Memory is bounded: Push blocks while the queue is full. So a source reads no faster
//     than Kafka accepts records.
//
// The processor of a source has an input topic, as all do: its partitions number the tasks, and its
// records are control records for the source. A batch waits at most processors.Config.Tick for a
// Flush; a source whose batches must not wait calls Task.Wake after a Push. A source that is a
// CommitListener learns which transactions have committed, for example to acknowledge messages of
// the other system.
//
// # Questions, commits and views
//
// Some processors answer callers, such as a queue that hands out jobs: a caller asks the handler of
// a partition, and gets an answer that no crash can take back.
//
//	callers          Ask                     Handler                    one Kafka transaction
//	┌───────┐  question  ┌──────────────────────────────────────┐  Flush  ┌ decision, outputs
//	│       ├───────────▶│ decides, keeps the caller, Task.Wake ├────────▶┤
//	│       │◀───────────┤ answers in Committed                 │◀────────┤ committed, in the store
//	└───────┘   answer   └──────────────────────────────────────┘         └
//
// The parts are:
//
//   - Ask (package processors) calls a function with the handler, on the goroutine that calls the
//     handler, between two batches.
//   - Task.Wake requests a commit soon. Without it the changes of a question wait for the next
//     records, or for processors.Config.Tick.
//   - Committed, of a CommitListener, reports each transaction that has committed.
//   - A view is an immutable value that a handler publishes through an atomic.Pointer field, in
//     Committed. processors.HandlerOf returns the handler to readers of its views, which call only
//     what is safe for concurrent use.
//   - Watch (Runtime.Watch of package processors) reports commits that change given keys, to
//     readers of the store. It needs nothing of the handler.
//
// What the runtime guarantees:
//
//   - RUN-30: Committed(n) is called after the brokers have committed transaction n of the task and
//     after the store has it: a Snapshot that is taken from then on shows the transaction. So an
//     answer given in Committed is durable: no crash, takeover or fence removes what it states.
//   - RUN-31: Committed is called in the order of the transactions, on the goroutine of the
//     handler, before any other call of the handler. No transaction is reported twice.
//   - RUN-32: A transaction that was aborted, or whose outcome the process does not know, is never
//     reported. The handler is discarded. After a crash between the commit and the report, or after
//     a lost answer of a broker, the next handler has the changes in its state, but gets no
//     Committed for them. So a caller without an answer does not know whether its question counted:
//     make questions repeatable, by an id that the caller chooses.
//   - RUN-33: A process that has lost its partition (a zombie) gets no Committed for later
//     decisions, because the brokers refuse its commit. A process that freezes between the commit
//     and the report may call Committed late. The report is then still true, and the new owner has
//     the transaction.
//   - RUN-34: The changes of a question are part of the open transaction, as those of records are.
//     An answer that is given before the commit, in the question itself, may be undone.
//   - RUN-35: A Wake is coalesced with others of the same transaction. A Flush begins after each
//     Wake of a handler that is not discarded. A Flush without changes, after no record, makes no
//     transaction: there is no Committed, and the next Flush has the same sequence.
//
// The state of such a handler depends on more than its records. So it writes each decision to the
// state or to an output, and a test in processorstest needs Options.NoRefold.
//
// # Sinks
//
// A Sink acts on another system for each record of a topic, such as a write to a database. A
// transaction of Kafka cannot include the other system, so a sink acts at least once, and its
// actions must be repeatable. Records of one key are done one after another, in order. A Sink is
// not a Processor: it has no state and no outputs. Package processors/sink runs it.
//
// # What it does not do
//
// There is no query language and no operator for joins or windows: a join is a processor with
// several inputs, and a window is state with a timer. A task reads only the state of its own
// partition, so there are no global tables. A change of the key needs a second processor and a
// topic between the two, see package program. Exactly once holds within one Kafka cluster, for
// state and outputs; a Sink acts at least once. The package runs nothing: it has no client, no
// goroutine and no clock.
package stream
