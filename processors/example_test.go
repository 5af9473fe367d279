package processors_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/stream"
)

// words counts words. Its state is table 1: a word and its count.
type words struct {
	stream.Task
	counts map[string]uint64 // what changed since the last commit
}

func (h *words) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		for _, word := range strings.Fields(string(r.Value)) {
			if _, known := h.counts[word]; !known {
				v, err := h.Get(1, []byte(word))
				if err != nil {
					return err
				}
				if v != nil {
					h.counts[word] = binary.BigEndian.Uint64(v)
				}
			}
			h.counts[word]++
		}
	}
	return nil
}

func (h *words) Flush(_ stream.Commit, ch *stream.Changes) error {
	for word, n := range h.counts {
		ch.Put(1, []byte(word), binary.BigEndian.AppendUint64(nil, n))
		ch.Emit("out", stream.Message{Key: []byte(word), Value: fmt.Append(nil, n)})
	}
	clear(h.counts) // Get returns what this Flush handed over
	return nil
}

// A word count: state in a table, and outputs, both exactly once.
func ExampleHandler() {
	demo("wordcount", func(t stream.Task) (stream.Handler, error) {
		return &words{Task: t, counts: map[string]uint64{}}, nil
	}, []kgo.Record{{Value: []byte("to be or")}, {Value: []byte("not to be")}}, map[string]string{"to": "2", "be": "2", "or": "1", "not": "1"})
	// Output: all there
}

// sessions counts the events of a user until 30 s pass without one. The state of a session is its
// count and the time of its last event.
type sessions struct {
	stream.Task
	open   map[string][2]int64
	closed []string // user=count, for outputs
}

const silence = 30_000 // ms without an event

func (h *sessions) Fold(b *stream.Batch) error {
	for _, r := range b.Records {
		s, err := h.load(string(r.Key))
		if err != nil {
			return err
		}
		if s[0] == 0 { // one timer for each session, which may be set again when it fires
			h.Timers.Set(stream.Timer{AtMs: r.TimeMs + silence, Key: r.Key})
		}
		h.open[string(r.Key)] = [2]int64{s[0] + 1, max(s[1], r.TimeMs)}
	}
	return nil
}

func (h *sessions) OnTimer(nowMs int64, due []stream.Timer) error {
	for _, t := range due {
		user := string(t.Key)
		switch s, err := h.load(user); {
		case err != nil:
			return err
		case s[1]+silence > nowMs: // there was another event
			h.Timers.Set(stream.Timer{AtMs: s[1] + silence, Key: t.Key})
		default:
			h.closed = append(h.closed, fmt.Sprintf("%s=%d", user, s[0]))
			h.open[user] = [2]int64{}
		}
	}
	return nil
}

func (h *sessions) load(user string) (s [2]int64, err error) {
	if s, known := h.open[user]; known {
		return s, nil
	}
	v, err := h.Get(1, []byte(user))
	if v != nil {
		s = [2]int64{int64(binary.BigEndian.Uint64(v)), int64(binary.BigEndian.Uint64(v[8:]))}
	}
	return s, err
}

func (h *sessions) Flush(_ stream.Commit, ch *stream.Changes) error {
	for user, s := range h.open {
		if s[0] == 0 {
			ch.Delete(1, []byte(user))
		} else {
			ch.Put(1, []byte(user), binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(s[0])), uint64(s[1])))
		}
	}
	for _, s := range h.closed {
		user, n, _ := strings.Cut(s, "=")
		ch.Emit("out", stream.Message{Key: []byte(user), Value: []byte(n)})
	}
	clear(h.open) // Get returns what this Flush handed over
	h.closed = h.closed[:0]
	return nil
}

// Sessions with durable timers in event time: a session ends when 30 s of its partition's event
// time pass without an event.
func ExampleProcessor_timers() {
	at := func(user string, second int64) kgo.Record {
		return kgo.Record{Key: []byte(user), Timestamp: time.Unix(1_800_000_000+second, 0)}
	}
	demo("sessions", func(t stream.Task) (stream.Handler, error) {
		return &sessions{Task: t, open: map[string][2]int64{}}, nil
	}, []kgo.Record{at("ann", 0), at("bob", 10), at("ann", 25), at("ann", 50), at("eve", 100)}, map[string]string{"ann": "3", "bob": "1"})
	// Output: all there
}

// demo runs a processor on a dev broker until the last value of each key in its output is the
// wanted one.
func demo(app string, handler func(stream.Task) (stream.Handler, error), in []kgo.Record, want map[string]string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var topics []stream.Topic
	inputs := []string{"in"}
	for i := range in {
		if topic := cmp.Or(in[i].Topic, "in"); !slices.Contains(inputs, topic) {
			inputs = append(inputs, topic)
		}
	}
	for _, name := range append([]string{"out", app + ".changelog", app + ".dlq"}, inputs...) {
		topics = append(topics, stream.Topic{Name: name, Partitions: 1})
	}
	broker, err := devbroker.Start(devbroker.Config{Topics: topics})
	must(err)
	defer func() { must(broker.Close()) }()
	dir, err := os.MkdirTemp("", app)
	must(err)
	defer func() { must(os.RemoveAll(dir)) }()
	rt, err := processors.New(processors.Config{Kafka: broker.Kafka(), Dir: dir, Instance: "one"}, stream.Processor{
		App: app, Inputs: inputs, Changelog: app + ".changelog", Outputs: stream.OutputTopics("out"), New: handler,
	})
	must(err)
	life, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- rt.Run(life) }()

	cl, err := broker.Kafka().Client(kgo.ConsumeTopics("out"), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DefaultProduceTopic("in"))
	must(err)
	defer cl.Close()
	for i := range in {
		must(cl.ProduceSync(ctx, &in[i]).FirstErr())
	}
	for len(want) > 0 {
		fetches := cl.PollFetches(ctx)
		must(ctx.Err())
		fetches.EachRecord(func(r *kgo.Record) {
			if want[string(r.Key)] == string(r.Value) {
				delete(want, string(r.Key))
			}
		})
	}
	stop()
	must(<-ended)
	fmt.Println("all there")
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
