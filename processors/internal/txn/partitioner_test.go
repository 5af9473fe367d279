package txn

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// TestMurmur2IsJavas holds stream.Murmur2 against the client's reimplementation of Java's
// partitioner.
func TestMurmur2IsJavas(t *testing.T) {
	java := kgo.StickyKeyPartitioner(nil).ForTopic("t")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		key := make([]byte, rng.IntN(40))
		for i := range key {
			key[i] = byte(rng.Uint32())
		}
		n := 1 + rng.Int32N(200)
		if got, want := stream.Murmur2(key, n), java.Partition(&kgo.Record{Key: key}, int(n)); int(got) != want {
			t.Fatalf("%x goes to partition %d of %d, with Java's partitioner to %d", key, got, n, want)
		}
	}
}

// TestPartitionerChooses: an explicit partition is kept, the output's partitioner chooses the
// others, and the error of an invalid partition names the output.
func TestPartitionerChooses(t *testing.T) {
	p := NewPartitioner([]stream.Output{
		{Name: "counts", Topic: "c"},
		{Name: "last", Topic: "l", Partitioner: func(_ []byte, n int32) int32 { return n - 1 }},
		{Name: "wild", Topic: "w", Partitioner: func(_ []byte, n int32) int32 { return n }},
		{Name: "broken", Topic: "b", Partitioner: func([]byte, int32) int32 { panic("no") }},
	})
	for _, x := range []struct {
		topic string
		key   []byte
		to    int32
		want  int
		err   string
	}{
		{"log", []byte("k"), 3, 3, ""}, // not an output
		{"c", []byte("k"), 3, 3, ""},
		{"c", []byte("foobar"), stream.ByPartitioner, int(stream.Murmur2([]byte("foobar"), 4)), ""},
		{"c", nil, stream.ByPartitioner, 6 % 4, ""},
		{"l", []byte("k"), stream.ByPartitioner, 3, ""},
		{"c", []byte("k"), 4, -1, `partition 4 of output "counts": its topic c has 4 partitions`},
		{"w", []byte("k"), stream.ByPartitioner, -1, `partitioner of output "wild" (topic w) chose partition 4 of 4`},
		{"b", []byte("k"), stream.ByPartitioner, -1, `partitioner of output "broken" (topic b) panicked: no`},
	} {
		o := p.outputs[x.topic]
		if o == nil {
			o = &stream.Output{Topic: x.topic}
		}
		c := stream.Change{Op: stream.OpEmit, Key: x.key, To: &stream.Destination{Output: o, Partition: x.to}}
		r := Emitted(&c, 6, 1)
		if got := p.choose(p.outputs[x.topic], &r, 4); got != x.want {
			t.Errorf("%+v: partition %d", x, got)
		}
		err := p.Explain(&r, kgo.ErrRecordTimeout)
		if _, own := err.(*partitionError); own != (x.err != "") || own && !strings.Contains(err.Error(), x.err) || own != isRecordFault(err) {
			t.Errorf("%+v: %v", x, err)
		}
		if err := p.Explain(&r, nil); err != nil || len(p.bad) > 0 {
			t.Errorf("%+v: %v, %d errors are left", x, err, len(p.bad))
		}
	}
}
