//go:build synctests

package processors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/stream"
)

// reader holds what Get and Scan return against the input: in each call it must be a fold of
// exactly the records before the last Flush, or before Task.Next in a new handler. It keeps no
// state of its own in memory but the open transaction.
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

// TestReadsSeeTheLastFlush: what a Flush handed over is what Get and Scan return from the next call
// of the handler on, whether the store has it or the write buffer of a worker that is behind,
// across commits that fail, answers that get lost and a restart.
func TestReadsSeeTheLastFlush(t *testing.T) {
	bubble(t, 1, func(t *testing.T, w *crashRun) {
		var input []string
		for range 6000 {
			in := fmt.Sprintf("k%02d", w.rng.IntN(30))
			if w.rng.IntN(4) > 0 {
				in += fmt.Sprint("=", w.rng.IntN(1000))
			}
			input = append(input, in)
		}
		cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		defer cl.Close()
		for chunk := range slices.Chunk(input, 500) {
			var rs []*kgo.Record
			for _, in := range chunk {
				rs = append(rs, &kgo.Record{Topic: "in", Value: []byte(in)})
			}
			if err := cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		made, deferred := 0, 0
		proc := ledgers("in")
		proc.New = func(task stream.Task) (stream.Handler, error) {
			made++
			h := &reader{task: task, input: input, want: map[string]string{}, wrong: func(err error) { t.Error(err) }}
			h.advance(task.Next["in"])
			h.next = h.base
			return h, h.check()
		}
		faults := rand.New(rand.NewPCG(3, 4))
		fs := vfs.NewCrashableMem()
		cfg := Config{Workers: 1, FS: fs, PollRecords: 20, CommitRecords: 40, failpoint: func(wk *worker, at string) error {
			for _, task := range wk.tasks {
				if at == "applied" && task.buffer != nil && task.buffer.Pending() {
					deferred++
				}
			}
			if at == "flushed" && faults.IntN(20) == 0 {
				if faults.IntN(2) == 0 {
					w.c.LoseAnswers(kmsg.EndTxn, 1)
				} else {
					w.c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.TxnOffsetCommit}, Err: kerr.RebalanceInProgress, Count: 1})
				}
			}
			return nil
		}}
		rt, end := w.begin("a", cfg, proc)
		w.until("half of it is folded", 10*time.Minute, func() bool { return w.status(rt, 0).Next["in"] >= 3000 })
		if err := end(); err != nil {
			t.Fatal(err)
		}
		rt, end = w.begin("a", cfg, proc)
		w.until("it is folded", 10*time.Minute, func() bool { return w.status(rt, 0).Next["in"] == int64(len(input)) })
		if err := end(); err != nil {
			t.Fatal(err)
		}
		if made < 5 || deferred < 20 {
			t.Errorf("%d handlers, %d transactions in the write buffer: too few to prove anything", made, deferred)
		}
	})
}
