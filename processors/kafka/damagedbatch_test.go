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

// FuzzBatchEnd: whatever the bytes are, the end of a batch is behind the offset, or not known.
func FuzzBatchEnd(f *testing.F) {
	two := append(header(3, 1), header(5, 9)...)
	for offset, want := range map[int64]int64{3: 5, 4: 5, 5: 15, 14: 15, 15: 0, 2: 0} {
		if got := batchEnd(two, offset); got != want {
			f.Errorf("the batch with offset %d ends at %d, not %d", offset, got, want)
		}
		f.Add(two, offset)
	}
	f.Add(header(math.MaxInt64-1, math.MaxInt32), int64(math.MaxInt64))
	f.Add(header(0, -1), int64(0))
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, batches []byte, offset int64) {
		if got := batchEnd(batches, offset); got != 0 && got <= offset {
			t.Errorf("the batch with offset %d ends at %d", offset, got)
		}
	})
}
