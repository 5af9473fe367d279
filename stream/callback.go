package stream

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/weirhq/weir/stream/internal/plumbing"
)

// Decoder makes a value of bytes. The codecs of package stream/state are Decoders. It must not keep
// b, and is used by several goroutines at once.
//
// Its error rejects the record: a RejectError with its own reason, any other error with
// ReasonUndecodable.
type Decoder[V any] interface {
	Decode(b []byte) (V, error)
}

// Reasons for which records are rejected before they reach a function of On.
const (
	// ReasonUndecodable: the codec returned an error. The detail is its text.
	ReasonUndecodable = "undecodable"
	// ReasonCodecPanic: the codec panicked. The detail is the panic and its stack.
	ReasonCodecPanic = "codec_panic"
	// ReasonNoValue: the value is null. In a compacted topic such a record deletes its key.
	ReasonNoValue = "no_value"
	// ReasonNoKey: the key is null, where state.Keep needs it.
	ReasonNoKey = "no_key"
)

// maxStack bounds the stack of a codec that panicked, in bytes.
const maxStack = 4 << 10

// Callback is a function of a processor for one input, or for one kind of timers: see On, OnBytes
// and OnTimer. It belongs into Processor.On.
type Callback struct {
	topic    string
	onRecord func(c *Context, r *Record) error
	kind     TimerKind
	onTimer  func(c *Context, t Timer) error
	missing
}

// missing is for this package and package state: it holds the error of what is missing.
type missing = plumbing.Missing

// On makes fn the function for the records of an input, whose values codec decodes.
//
//	stream.On("clicks", state.JSON[click]{}, func(c *stream.Context, r *stream.Record, v click) error { ... })
//
// Errors of fn mean what they mean in EachRecord. A value that codec cannot decode is rejected to
// the dead-letter topic, and so are a value at which codec panics and a null value. For topics
// whose records may have no value there are OnBytes and state.Keep.
func On[V any](topic string, codec Decoder[V], fn func(c *Context, r *Record, v V) error) Callback {
	cb := Callback{topic: topic}
	if codec == nil || fn == nil {
		cb.Err = fmt.Errorf("On(%q) has no codec or no function: give both", topic)
	}
	cb.onRecord = func(c *Context, r *Record) error {
		v, err := Decode(codec, r.Value)
		if err != nil {
			return err
		}
		return fn(c, r, v)
	}
	return cb
}

// OnBytes makes fn the function for the records of an input as they are, with or without a value.
// fn decodes with Decode what it needs.
func OnBytes(topic string, fn func(c *Context, r *Record) error) Callback {
	cb := Callback{topic: topic, onRecord: fn}
	if fn == nil {
		cb.Err = fmt.Errorf("OnBytes(%q) has no function: give one", topic)
	}
	return cb
}

// OnTimer makes fn the function for the timers of a kind. Errors of fn mean what they mean in
// EachRecordWithTimers.
func OnTimer(kind TimerKind, fn func(c *Context, t Timer) error) Callback {
	cb := Callback{kind: kind, onTimer: fn}
	if fn == nil || !ValidName(string(kind)) {
		cb.Err = fmt.Errorf("OnTimer(%q): give a function, and a kind of 1 to 200 letters, digits, '.', '_' or '-'", kind)
	}
	return cb
}

// OnTimerWithoutKind makes fn the function for the timers without a kind: those of
// Context.SetTimer, also of a version of the program whose handler was that of
// EachRecordWithTimers. Without it such a timer stops the partition. Errors of fn mean what they
// mean in EachRecordWithTimers.
func OnTimerWithoutKind(fn func(c *Context, t Timer) error) Callback {
	cb := Callback{onTimer: fn}
	if fn == nil {
		cb.Err = errors.New("OnTimerWithoutKind has no function: give one")
	}
	return cb
}

// Decode returns the value that b encodes, such as the key of a record. Its errors are
// RejectErrors, also if codec panics or b is nil: return them from the record function.
func Decode[V any](codec Decoder[V], b []byte) (v V, err error) {
	if b == nil {
		return v, Rejectf(ReasonNoValue, "it is null")
	}
	defer func() {
		if e := recover(); e != nil {
			stack := debug.Stack()
			err = Rejectf(ReasonCodecPanic, "%v\n%s", e, stack[:min(len(stack), maxStack)])
		}
	}()
	v, err = codec.Decode(b)
	if _, own := errors.AsType[*RejectError](err); err == nil || own {
		return v, err
	}
	return v, Rejectf(ReasonUndecodable, "%v", err)
}

// callbacks are the functions of a processor.
type callbacks struct {
	onRecord map[string]func(*Context, *Record) error  // by input
	onTimer  map[TimerKind]func(*Context, Timer) error // of kind "": timers without a kind
}

// newCallbacks returns an error if a function is missing, or if two have the same input or kind.
func newCallbacks(list []Callback) (*callbacks, error) {
	all := &callbacks{map[string]func(*Context, *Record) error{}, map[TimerKind]func(*Context, Timer) error{}}
	for _, cb := range list {
		switch {
		case cb.Err != nil:
			return nil, cb.Err
		case cb.onTimer != nil && all.onTimer[cb.kind] != nil && cb.kind == "":
			return nil, errors.New("two functions take the timers without a kind: give OnTimerWithoutKind once")
		case cb.onTimer != nil && all.onTimer[cb.kind] != nil:
			return nil, fmt.Errorf("two functions take the timers of kind %q: give each kind one function", cb.kind)
		case cb.onTimer != nil:
			all.onTimer[cb.kind] = cb.onTimer
		case cb.onRecord == nil:
			return nil, errors.New("a Callback is empty: make it with On, OnBytes or OnTimer")
		case all.onRecord[cb.topic] != nil:
			return nil, fmt.Errorf("two functions take the records of input %q: give each input one function", cb.topic)
		default:
			all.onRecord[cb.topic] = cb.onRecord
		}
	}
	return all, nil
}

// inputs returns the inputs that have functions, in their order in list.
func inputsOf(list []Callback) (topics []string) {
	for _, cb := range list {
		if cb.onRecord != nil && !slices.Contains(topics, cb.topic) {
			topics = append(topics, cb.topic)
		}
	}
	return topics
}

// newHandler is the Processor.New of callbacks.
func (a *callbacks) newHandler(t Task) (Handler, error) {
	h := &timedRecordHandler{recordHandler{
		context:  Context{task: t, tableNames: t.tables, timed: a.onTimer[""] != nil, kinds: a.onTimer, state: openTables{task: &t}},
		onRecord: a.record, onTimer: a.timer,
	}}
	if len(a.onTimer) == 0 { // the runtime does not look for timers
		return &h.recordHandler, nil
	}
	return h, nil
}

func (a *callbacks) record(c *Context, r *Record) error {
	fn := a.onRecord[c.topic]
	if fn == nil {
		return fmt.Errorf("input %q has no function: add one with On", c.topic)
	}
	return fn(c, r)
}

func (a *callbacks) timer(c *Context, t Timer) error {
	kind, key := t.Kind()
	fn := a.onTimer[kind]
	switch {
	case fn != nil:
		t.Key = key
		return fn(c, t)
	case kind == "":
		return fmt.Errorf(
			"a timer with key %q has no kind: another version of the program has set it. Add OnTimerWithoutKind to Processor.On", t.Key)
	default:
		return fmt.Errorf(
			"a timer has kind %q, which has no function: another version of the program has set it. Add OnTimer for its kind, with a function that does nothing if the timer is of no use", kind)
	}
}
