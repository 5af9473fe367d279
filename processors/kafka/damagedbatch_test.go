package kafka

import (
	"math"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// header returns the bytes of a batch without records.
func header(first int64, delta int32) []byte {
	b := kmsg.NewRecordBatch()
	b.FirstOffset, b.LastOffsetDelta, b.Magic, b.Length = first, delta, 2, 49
	return b.AppendTo(nil)
}

// unknown returns the bytes of a batch of an unknown format.
func unknown(first int64) []byte {
	b := header(first, 1)
	b[16] = 3
	return b
}

// FuzzFailedBatch: whatever the bytes are, the end of a batch is behind the offset, or not known.
func FuzzFailedBatch(f *testing.F) {
	two := append(header(3, 1), header(5, 9)...)
	for _, c := range []struct {
		batches          []byte
		next, first, end int64
	}{
		{two, 3, 3, 5},
		{two, 4, 3, 5},
		{two, 5, 5, 15},
		{two, 14, 5, 15},
		{two, 15, 15, 0},
		{two, 2, 3, 0},
		{unknown(3), 4, 3, 0},
		{append(header(3, 1), unknown(5)...), 6, 5, 0},
		{append(header(3, 1), unknown(7)...), 8, 7, 0},
	} {
		if first, end := failedBatch(c.batches, c.next); first != c.first || end != c.end {
			f.Errorf("the client stopped at offset %d: the batch is %d to %d, not %d to %d", c.next, first, end, c.first, c.end)
		}
		f.Add(c.batches, c.next)
	}
	f.Add(header(math.MaxInt64-1, math.MaxInt32), int64(math.MaxInt64))
	f.Add(header(0, -1), int64(0))
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, batches []byte, next int64) {
		if _, end := failedBatch(batches, next); end != 0 && end <= next {
			t.Errorf("the batch at offset %d ends at %d", next, end)
		}
	})
}
