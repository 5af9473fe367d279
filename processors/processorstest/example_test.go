//go:build synctests

package processorstest_test

// Copy this file to test your own processor. Without the build tag in its first line, go test
// reports the missing tag as an error.

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

// A process is killed at every failpoint of a commit, and starts again on the disk that the crash
// left. The counts are exact. Run checks the rest.
func TestWordCountSurvivesKills(t *testing.T) {
	processorstest.Run(t, processorstest.Options{Processor: wordCount()}, func(t *testing.T, h *processorstest.Harness) {
		p := h.Start("a")
		for _, failpoint := range processorstest.Failpoints() {
			h.CaughtUp()
			p.KillAt(failpoint)
			for partition := range int32(4) {
				h.Produce("lines", partition, "", "to be or", "not to be")
			}
			if err := p.Await(); err != processorstest.ErrKilled {
				t.Fatalf("the process was not killed at %q: %v", failpoint, err)
			}
			p = h.Start("a")
		}
		h.CaughtUp()
		times := uint64(len(processorstest.Failpoints()))
		for partition := range int32(4) {
			counts := h.State(partition, 1)
			for word, each := range map[string]uint64{"to": 2, "be": 2, "or": 1, "not": 1} {
				if n := binary.BigEndian.Uint64(counts[word]); n != each*times {
					t.Errorf("partition %d counted %q %d times, not %d", partition, word, n, each*times)
				}
			}
		}
	})
}
