package processors

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/stream"
)

// The data that passes between the runtime and a core.
type (
	// Record is one input record.
	Record = stream.Record
	// Header is a record header.
	Header = stream.Header
	// Batch is a run of records of one topic and partition.
	Batch = stream.Batch
	// Task is what a core gets when it takes over a partition.
	Task = stream.Task
	// Commit is what a core learns when the runtime is about to commit.
	Commit = stream.Commit
	// Changes is what a core says at a commit.
	Changes = stream.Changes
	// Timer is one deadline.
	Timer = stream.Timer
	// Timers is how a core sets and cancels timers.
	Timers = stream.Timers
)

// What a timer goes by.
const (
	EventTime = stream.EventTime
	WallTime  = stream.WallTime
)

// Handler is the core of one task. The runtime calls it from one goroutine at a time and throws it away whenever a
// transaction did not commit, so it needs no undo. One that holds more than memory is a Closer.
type Handler interface {
	// Fold applies the records of b in order, in memory. A record it refuses goes to b.Reject and must leave no trace;
	// a panic does the same to the one record that caused it. An error means that state could not be read: the
	// transaction is abandoned and tried again.
	Fold(b *Batch) error
	// Flush hands over everything that changed since the last call: state by absolute values, and outputs. It is also
	// called once a second without input. If it emits nothing and nothing was folded, no transaction is written.
	Flush(c Commit, ch *Changes) error
}

// Warmer is a Handler with volatile state that its inputs can rebuild, such as a set of recent ids.
type Warmer interface {
	// WarmFrom gives, per topic, the first offset to read again. Topics at or past Task.Next are not read.
	WarmFrom() map[string]int64
	// Warm sees the records of [WarmFrom, Task.Next) of each topic before the first Fold.
	Warm(b *Batch) error
}

// Sizer is a Handler that knows about how many bytes its next Flush will hand over. The runtime then commits before they
// exceed Config.CommitBytes.
type Sizer interface{ Dirty() int }

// Closer is a Handler that holds more than memory, such as goroutines that read ahead of Flush. Close is called once, by the
// goroutine that calls the handler, when it is thrown away: after a transaction that did not commit, when its partition goes
// elsewhere or stops, at the end of the process, and also where it was only made to look at its state. Nothing is called
// after it. It should not wait long: the partitions that share the worker wait too.
type Closer interface{ Close() }

// closeHandler is the end of a handler; h may be nil.
func closeHandler(h Handler) {
	if c, ok := h.(Closer); ok {
		c.Close()
	}
}

// Timed is a Handler with timers. It gets Task.Timers.
type Timed interface {
	// Fire is called with timers of one clock that are due, in order of time and key. nowMs is what they are due by: the
	// watermark, or the time of day. Each fires once: it is forgotten by the transaction that fired it. Those that Fire sets and
	// that are due at once come in the next call.
	Fire(nowMs int64, due []Timer) error
}

// EventTimes says how the event time of a task advances: to the least of its inputs' latest times, minus Lateness.
type EventTimes struct {
	// Of is the time of a record in Unix ms. Defaults to the record's timestamp.
	Of func(topic string, r *Record) int64
	// Grain is the step in which event time advances. Timers of a grain fire before the first record of a later one.
	// Defaults to 1 s.
	Grain time.Duration
	// Lateness is how much older than the newest record a record may be and still come before its timers. Defaults to 0.
	Lateness time.Duration
	// Idle is how long an input may be silent before the others' time goes on without it. Defaults to 5 s.
	Idle time.Duration
}

// Processor describes what runs. Its names are stable: they are the names of the group, the transactional ids and the
// directory on disk.
type Processor struct {
	App       string   // application id: consumer group, transactional ids <App>-<instance>-<worker>
	Inputs    []string // co-partitioned topics; partition p of all of them is task p
	Changelog string   // compacted topic with the same number of partitions
	// Partitions is how many the topics must have. Defaults to what the first input has. Where keys are spread by a number
	// of their own, such as events.Layout.Shards, give it: more partitions would be a silent change of what a task is.
	Partitions int32
	// Continued says that the state began with another application's, see Rekey: the inputs alone cannot give it.
	Continued bool
	Outputs   []string // topics that Changes.Emit may name, by index
	DLQ       string   // topic of refused records. Defaults to App + ".dlq"
	New       func(Task) (Handler, error)
	Time      EventTimes // for handlers with timers
	// Essence is what of a value the inputs alone decide. It leaves out what depends on how they were cut into transactions
	// and on who ran them: epochs, sequences, offsets as of a commit. By it a replay is compared with the live processor, and
	// what is the same by it is not promoted. Keys whose essence is nil, such as figures by the time of day, are left out of
	// both. value is not to be kept or changed. Defaults to the whole value.
	Essence func(table byte, key, value []byte) []byte
	// Restamp makes a value that another application wrote one of commit c: its epoch, sequence and offsets. Defaults to the
	// value as it is.
	Restamp func(table byte, key, value []byte, c Commit) ([]byte, error)
}

var legalName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,200}$`)

func (p *Processor) check() error {
	if p.DLQ == "" {
		p.DLQ = p.App + ".dlq"
	}
	if p.Time.Of == nil {
		p.Time.Of = func(_ string, r *Record) int64 { return r.TimeMs }
	}
	def(&p.Time.Grain, time.Second)
	def(&p.Time.Idle, 5*time.Second)
	names := append([]string{p.App, p.Changelog, p.DLQ}, p.Inputs...)
	for _, n := range append(names, p.Outputs...) {
		if !legalName.MatchString(n) {
			return fmt.Errorf("processor %q: %q is not a legal name: use 1 to 200 letters, digits, '.', '_' or '-'", p.App, n)
		}
	}
	switch {
	case len(p.Inputs) == 0:
		return fmt.Errorf("processor %q has no input topic", p.App)
	case p.Time.Grain < time.Millisecond || p.Time.Lateness < 0 || p.Time.Idle < 0:
		return fmt.Errorf("processor %q: a grain of %s, lateness of %s, idle after %s: the grain is 1ms at least, the others are not negative", p.App, p.Time.Grain, p.Time.Lateness, p.Time.Idle)
	case p.New == nil:
		return fmt.Errorf("processor %q: New is nil: give the function that makes a task's handler", p.App)
	case slices.Contains(p.Inputs, p.Changelog) || slices.Contains(p.Outputs, p.Changelog):
		return fmt.Errorf("processor %q: changelog %q is also an input or an output", p.App, p.Changelog)
	}
	return nil
}

// Errors to branch on. What they wrap says what happened and what to do.
var (
	// ErrLocked: another process holds the state directory.
	ErrLocked = errors.New("state directory is locked")
	// ErrNewer: the store was written by a newer version.
	ErrNewer = errors.New("state was written by a newer version")
	// ErrTransactions: the brokers do not speak transactions v2.
	ErrTransactions = errors.New("brokers without transactions v2")
	// ErrTopics: a topic is missing or has the wrong number of partitions.
	ErrTopics = errors.New("topics do not fit")
	// ErrInstance: another process runs under the same instance name.
	ErrInstance = errors.New("instance name is taken")
	// ErrForeign: the state directory belongs to another application.
	ErrForeign = errors.New("state directory of another application")
)
