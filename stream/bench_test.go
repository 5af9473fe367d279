package stream_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// wordsByHand is the word count over the batch interface, as an author would write it.
type wordsByHand struct {
	stream.Task
	counts map[string]uint64 // what changed since the last commit
}

func newWordsByHand(t stream.Task) (stream.Handler, error) {
	return &wordsByHand{Task: t, counts: map[string]uint64{}}, nil
}

func (h *wordsByHand) Fold(b *stream.Batch) error {
	for i := range b.Records {
		for word := range strings.FieldsSeq(string(b.Records[i].Value)) {
			n, known := h.counts[word]
			if !known {
				v, err := h.Get(1, []byte(word))
				if err != nil {
					return err
				}
				if v != nil {
					n = binary.BigEndian.Uint64(v)
				}
			}
			h.counts[word] = n + 1
		}
	}
	return nil
}

func (h *wordsByHand) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, word := range slices.Sorted(maps.Keys(h.counts)) {
		n := h.counts[word]
		ch.Put(1, []byte(word), binary.BigEndian.AppendUint64(nil, n))
		ch.Emit("counts", stream.Message{Key: []byte(word), Value: strconv.AppendUint(nil, n, 10)})
	}
	clear(h.counts)
	return nil
}

// words is the word count as a record function over a typed table. emit: it emits at each word;
// wordsByHand emits once per commit.
func words(emit bool) func(stream.Task) (stream.Handler, error) {
	counts := state.NewTable(1, state.String{}, state.Uint64{})
	return stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
		for word := range strings.FieldsSeq(string(r.Value)) {
			n, _, err := counts.Get(c, word)
			if err != nil {
				return err
			}
			counts.Put(c, word, n+1)
			if emit {
				c.Emit("counts", stream.Message{Key: []byte(word), Value: strconv.AppendUint(nil, n+1, 10)})
			}
		}
		return nil
	})
}

// wordsRaw is words over bytes.
func wordsRaw(emit bool) func(stream.Task) (stream.Handler, error) {
	return stream.EachRecord(func(c *stream.Context, r *stream.Record) error {
		for word := range strings.FieldsSeq(string(r.Value)) {
			key := []byte(word)
			v, err := c.Get(1, key)
			if err != nil {
				return err
			}
			n := uint64(1)
			if v != nil {
				n += binary.BigEndian.Uint64(v)
			}
			c.Put(1, key, binary.BigEndian.AppendUint64(nil, n))
			if emit {
				c.Emit("counts", stream.Message{Key: key, Value: strconv.AppendUint(nil, n, 10)})
			}
		}
		return nil
	})
}

// BenchmarkWordCount folds lines of six words from a skewed set of 10,000, and commits every 20,000
// lines to a map. Its sub-benchmarks are for comparison with each other.
func BenchmarkWordCount(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(rng, 1.2, 4, 9999)
	batch := stream.Batch{Topic: "lines"}
	for i := range 20_000 {
		var line []string
		for range 6 {
			line = append(line, fmt.Sprintf("word-%d", zipf.Uint64()))
		}
		batch.Records = append(batch.Records, stream.Record{Value: []byte(strings.Join(line, " ")), Offset: int64(i)})
	}
	for _, x := range []struct {
		name string
		make func(stream.Task) (stream.Handler, error)
	}{
		{"batch", newWordsByHand},
		{"record", words(false)},
		{"record-bytes", wordsRaw(false)},
		{"record-emits-each", words(true)},
	} {
		b.Run(x.name, func(b *testing.B) {
			rows := map[string][]byte{}
			h, err := x.make(stream.Task{Get: func(_ byte, key []byte) ([]byte, error) { return slices.Clone(rows[string(key)]), nil }})
			if err != nil {
				b.Fatal(err)
			}
			var ch stream.Changes
			b.ReportAllocs()
			for b.Loop() {
				ch.Reset()
				if err := h.Fold(&batch); err != nil {
					b.Fatal(err)
				}
				if err := h.Flush(stream.Commit{}, &ch); err != nil {
					b.Fatal(err)
				}
				for i := range ch.List {
					if c := &ch.List[i]; c.Op == stream.OpPut {
						rows[string(c.Key)] = append(rows[string(c.Key)][:0], c.Value...)
					}
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(batch.Records))/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
