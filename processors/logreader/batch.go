package logreader

import (
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/stream"
)

// Record is a record of a partition. Its bytes belong to the caller of Next.
type Record struct {
	Offset     int64
	TimeMs     int64 // its timestamp, Unix ms
	Key, Value []byte
	Headers    []stream.Header
}

// Batch is what Next fills.
type Batch struct {
	Records []Record // may be empty: control records were passed
	After   Position // the position behind the batch
}

// recordOverhead is what a record in a queue counts beside its bytes.
const recordOverhead = 200

func sizeOf(r *kgo.Record) int {
	n := recordOverhead + len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += len(r.Headers[i].Key) + len(r.Headers[i].Value)
	}
	return n
}

// add appends a record of the client, and advances the position.
func (b *Batch) add(r *kgo.Record) {
	b.After.Next, b.After.Epoch = r.Offset+1, r.LeaderEpoch
	if r.Attrs.IsControl() {
		return
	}
	one := Record{Offset: r.Offset, TimeMs: r.Timestamp.UnixMilli(), Key: r.Key, Value: r.Value}
	if len(r.Headers) > 0 {
		one.Headers = make([]stream.Header, len(r.Headers))
		for i, h := range r.Headers {
			one.Headers[i] = stream.Header{Key: h.Key, Value: h.Value}
		}
	}
	b.Records = append(b.Records, one)
}
