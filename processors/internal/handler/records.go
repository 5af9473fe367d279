package handler

import (
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/weirhq/weir/stream"
)

// OffsetRange is a half-open range of offsets: Next is included, End is not.
type OffsetRange struct{ Next, End int64 }

// Records converts fetched records and appends them to out. It drops control records and records
// outside r. It returns the offset to read next, which is at most r.End.
func Records(in []*kgo.Record, r OffsetRange, out []stream.Record) ([]stream.Record, int64) {
	next := r.Next
	for _, rec := range in {
		if rec.Offset < next {
			continue
		}
		if rec.Offset >= r.End {
			next = max(next, r.End)
			break
		}
		next = rec.Offset + 1
		if !rec.Attrs.IsControl() {
			out = append(out, toRecord(rec))
		}
	}
	return out, next
}

func toRecord(r *kgo.Record) stream.Record {
	rec := stream.Record{Key: r.Key, Value: r.Value, Offset: r.Offset, TimeMs: r.Timestamp.UnixMilli()}
	if len(r.Headers) > 0 {
		rec.Headers = make([]stream.Header, len(r.Headers))
		for i, h := range r.Headers {
			rec.Headers[i] = stream.Header{Key: h.Key, Value: h.Value}
		}
	}
	return rec
}
