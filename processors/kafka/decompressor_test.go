package kafka

import (
	"errors"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestBombIsNotDecompressed: requests that decode answers themselves refuse a batch that the
// clients refuse. With the library's default they took up to two gigabytes for it.
func TestBombIsNotDecompressed(t *testing.T) {
	_, k := fakeKafka(t, "log", 1)
	cl, err := k.Client(kgo.ProducerBatchMaxBytes(100<<20), kgo.ProducerBatchCompression(kgo.GzipCompression()))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "log", Value: make([]byte, MaxBatchBytes)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	damaged := new(DamagedBatchError)
	if err := k.CheckBatch(t.Context(), Position{Topic: "log", Offset: 0}); !errors.As(err, &damaged) || !errors.Is(err, kgo.ErrMaxDecompress) || damaged.Next != 1 {
		t.Errorf("error %v", err)
	}
}
