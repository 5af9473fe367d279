//go:build synctests

package processors_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// reader compares what Get, Scan and Range return with the input. In each call they must return a
// fold of exactly the records before the last Flush, or before Task.Next in a new handler.
type reader struct {
	task  stream.Task
	input []string          // the whole topic: "key=value", or "key" for a deletion
	want  map[string]string // a fold of input[:base]
	base  int64             // next offset as of the last Flush
	next  int64
	wrong func(error)
}

func (h *reader) advance(to int64) {
	for ; h.base < to; h.base++ {
		key, value, put := strings.Cut(h.input[h.base], "=")
		if delete(h.want, key); put {
			h.want[key] = value
		}
	}
}

// check reads the table whole, in order, and key by key.
func (h *reader) check() error {
	var got []string
	err := h.task.Scan(1, nil, func(k, v []byte) error {
		got = append(got, string(k)+"="+string(v))
		return nil
	})
	var want []string
	for _, k := range slices.Sorted(maps.Keys(h.want)) {
		want = append(want, k+"="+h.want[k])
	}
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("at offset %d Scan returns %v, want %v", h.base, got, want)
	}
	for _, x := range [][2]string{{"", ""}, {"k05", "k20"}, {"k05", ""}, {"", "k20"}, {"k20", "k05"}, {"k07", "k07"}, {"k29x", "k99"}} {
		var part, expected []string
		var to []byte
		if x[1] != "" {
			to = []byte(x[1])
		}
		e := h.task.Range(1, []byte(x[0]), to, func(k, v []byte) error {
			part = append(part, string(k)+"="+string(v))
			return nil
		})
		for _, entry := range want {
			if k, _, _ := strings.Cut(entry, "="); k >= x[0] && (to == nil || k < x[1]) {
				expected = append(expected, entry)
			}
		}
		if e == nil && !slices.Equal(part, expected) {
			e = fmt.Errorf("at offset %d Range(%v) returns %v, want %v", h.base, x, part, expected)
		}
		err = errors.Join(err, e)
	}
	for i := range 30 {
		key := fmt.Sprintf("k%02d", i)
		v, e := h.task.Get(1, []byte(key))
		if w, has := h.want[key]; e == nil && (has != (v != nil) || string(v) != w) {
			e = fmt.Errorf("at offset %d Get(%s) returns %q, want %q, %t", h.base, key, v, w, has)
		}
		err = errors.Join(err, e)
	}
	if err != nil {
		h.wrong(err)
	}
	return err
}

func (h *reader) Fold(b *stream.Batch) error {
	h.next = b.Records[len(b.Records)-1].Offset + 1
	return h.check()
}

func (h *reader) Flush(c stream.Commit, ch *stream.Changes) error {
	if err := h.check(); err != nil {
		return err
	}
	last := map[string]string{}
	for _, in := range h.input[h.base:h.next] {
		key, _, _ := strings.Cut(in, "=")
		last[key] = in
	}
	for key, in := range last {
		if _, value, put := strings.Cut(in, "="); put {
			ch.Put(1, []byte(key), []byte(value))
		} else {
			ch.Delete(1, []byte(key))
		}
	}
	h.advance(h.next)
	return nil
}

// TestReadsSeeTheLastFlush: from the next call of the handler on, Get and Scan return what a Flush
// handed over, whether the store has it or the write buffer. Commits fail, answers get lost, and
// the process restarts.
func TestReadsSeeTheLastFlush(t *testing.T) {
	var input []string
	rng := rand.New(rand.NewPCG(1, 7))
	for range 6000 {
		in := fmt.Sprintf("k%02d", rng.IntN(30))
		if rng.IntN(4) > 0 {
			in += fmt.Sprint("=", rng.IntN(1000))
		}
		input = append(input, in)
	}
	made, deferred := 0, 0
	o := ledgerOptions(1)
	o.Processor.Outputs = nil
	o.Processor.New = func(task stream.Task) (stream.Handler, error) {
		made++
		r := &reader{task: task, input: input, want: map[string]string{}, wrong: func(err error) { t.Error(err) }}
		r.advance(task.Next["in"])
		r.next = r.base
		return r, r.check()
	}
	o.Config = processors.Config{Workers: 1, PollRecords: 20, CommitRecords: 40}
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		for chunk := range slices.Chunk(input, 500) {
			var rs []*kgo.Record
			for _, in := range chunk {
				rs = append(rs, &kgo.Record{Topic: "in", Value: []byte(in)})
			}
			h.Send(rs...)
		}
		faults, cfg := rand.New(rand.NewPCG(3, 4)), o.Config
		cfg.SetFailpoint(func(w *processors.Worker, at string) error {
			if at == "applied" {
				deferred += w.BufferedTasks()
			}
			if at == "flushed" && faults.IntN(20) == 0 {
				if faults.IntN(2) == 0 {
					h.LoseAnswers(kmsg.EndTxn, 1)
				} else {
					h.FailRequests(kmsg.TxnOffsetCommit, kerr.RebalanceInProgress, 1)
				}
			}
			return nil
		})
		p := h.StartWith("a", cfg, o.Processor)
		h.WaitFor("half of the input is folded", 10*time.Minute, func() bool { return p.Status(0).Next["in"] >= 3000 })
		p.Stop()
		p = h.StartWith("a", cfg, o.Processor)
		h.WaitFor("all of the input is folded", 10*time.Minute, func() bool { return p.Status(0).Next["in"] == int64(len(input)) })
		p.Stop()
		if made < 5 || deferred < 20 {
			t.Errorf("%d handlers, %d transactions in the write buffer: too few for the test to mean anything", made, deferred)
		}
	})
}
