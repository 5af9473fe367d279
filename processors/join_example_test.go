package processors_test

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// clicked joins two topics by key: an impression and the click within ten minutes before or after
// it. Table 1 has the records that wait for the other topic: "i/" or "c/" and the key, with the
// value of the record. A key occurs once in each topic.
type clicked struct {
	stream.Task
	changed map[string]string // by key; "" is deleted
	out     [][2]string
}

const horizon = 600_000 // ms

func (h *clicked) Fold(b *stream.Batch) error {
	mine, other := "i/", "c/"
	if b.Topic == "clicks" {
		mine, other = other, mine
	}
	for _, r := range b.Records {
		half, err := h.load(other + string(r.Key))
		switch {
		case err != nil:
			return err
		case half != "":
			h.out = append(h.out, [2]string{string(r.Key), "clicked"})
			h.changed[other+string(r.Key)] = ""
		default: // wait until event time has passed the horizon
			h.changed[mine+string(r.Key)] = string(r.Value)
			h.Timers.Set(stream.Timer{AtMs: r.TimeMs + horizon, Key: []byte(mine + string(r.Key))})
		}
	}
	return nil
}

func (h *clicked) OnTimer(_ int64, due []stream.Timer) error {
	for _, t := range due {
		half, err := h.load(string(t.Key))
		if err != nil {
			return err
		}
		if key, impression := strings.CutPrefix(string(t.Key), "i/"); half != "" && impression {
			h.out = append(h.out, [2]string{key, "not clicked"})
		}
		h.changed[string(t.Key)] = ""
	}
	return nil
}

func (h *clicked) load(key string) (string, error) {
	if v, known := h.changed[key]; known {
		return v, nil
	}
	v, err := h.Get(1, []byte(key))
	return string(v), err
}

func (h *clicked) Flush(_ stream.Commit, ch *stream.Changes) error {
	for key, v := range h.changed {
		if v == "" {
			ch.Delete(1, []byte(key))
		} else {
			ch.Put(1, []byte(key), []byte(v))
		}
	}
	for _, o := range h.out {
		ch.Emit("out", stream.Message{Key: []byte(o[0]), Value: []byte(o[1])})
	}
	clear(h.changed)
	h.out = h.out[:0]
	return nil
}

// A join of two topics. Partition p of both is one task. Its event time is that of the topic that
// is behind, so a record does not expire because the other topic is read faster. A topic that is
// silent for EventTimeConfig.Idle does not hold event time back.
func ExampleProcessor_join() {
	at := func(topic, key string, second int64) kgo.Record {
		return kgo.Record{Topic: topic, Key: []byte(key), Value: []byte("x"), Timestamp: time.Unix(1_800_000_000+second, 0)}
	}
	demo("clicked", func(t stream.Task) (stream.Handler, error) {
		return &clicked{Task: t, changed: map[string]string{}}, nil
	}, []kgo.Record{
		at("in", "ad1", 0), at("in", "ad2", 10), at("clicks", "ad1", 60), at("clicks", "ad3", 70), at("in", "ad3", 80),
		at("in", "later", 1000), at("clicks", "much later", 1000),
	}, map[string]string{"ad1": "clicked", "ad2": "not clicked", "ad3": "clicked"})
	// Output: all there
}
