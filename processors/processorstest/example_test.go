//go:build synctests

package processorstest_test

// This file is made to be copied. The line of the build tag keeps a run without it from failing; leave it out, and Run says
// what to do.

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// words counts words. Its state is table 1: a word and its count. It emits each count that changed.
type words struct {
	stream.Task
	counts map[string]uint64 // what changed since the last commit
}

func newWords(t stream.Task) (stream.Handler, error) {
	return &words{Task: t, counts: map[string]uint64{}}, nil
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
		count := binary.BigEndian.AppendUint64(nil, n)
		ch.Put(1, []byte(word), count)
		ch.Emit("counts", stream.Message{Key: []byte(word), Value: count})
	}
	clear(h.counts)
	return nil
}

func wordCount() stream.Processor {
	return stream.Processor{
		App: "wordcount", Inputs: []string{"lines"}, Changelog: "wordcount.log",
		Outputs: stream.OutputTopics("counts"), New: newWords,
	}
}

// A process dies at every edge of a commit, and comes back each time on what the crash left of its disk. The totals are exact,
// and Run judges the rest.
func TestWordCountSurvivesKills(t *testing.T) {
	processorstest.Run(t, processorstest.Options{Processor: wordCount()}, func(t *testing.T, w *processorstest.Harness) {
		p := w.Start("a")
		for _, edge := range processorstest.Failpoints() {
			w.CaughtUp()
			p.KillAt(edge)
			for partition := range int32(4) {
				w.Produce("lines", partition, "", "to be or", "not to be")
			}
			if err := p.Await(); err != processorstest.ErrKilled {
				t.Fatalf("it did not die at %q: %v", edge, err)
			}
			p = w.Start("a")
		}
		w.CaughtUp()
		times := uint64(len(processorstest.Failpoints()))
		for partition := range int32(4) {
			counts := w.State(partition, 1)
			for word, each := range map[string]uint64{"to": 2, "be": 2, "or": 1, "not": 1} {
				if n := binary.BigEndian.Uint64(counts[word]); n != each*times {
					t.Errorf("partition %d counted %q %d times, not %d", partition, word, n, each*times)
				}
			}
		}
	})
}
