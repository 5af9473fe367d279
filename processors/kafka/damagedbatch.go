package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// DamagedBatchError means that a batch in the log of a partition cannot be decoded: its checksum is
// wrong, it cannot be decompressed, or its format is unknown. The client has no type for these
// errors, and fetches the batch again for ever.
type DamagedBatchError struct {
	Topic     string
	Partition int32
	Offset    int64 // the first offset to read that is in the batch
	Next      int64 // the offset behind the batch; 0 if its header is not legible
	Err       error // of the client
}

func (e *DamagedBatchError) Error() string {
	return fmt.Sprintf("the batch of %s[%d] at offset %d is damaged: %v", e.Topic, e.Partition, e.Offset, e.Err)
}

func (e *DamagedBatchError) Unwrap() error { return e.Err }

// CheckBatch fetches from an offset as a consumer of committed records does, with a request of its
// own. It returns a DamagedBatchError if the client cannot decode what it would return next, nil if
// a record can be read or if no record follows, and other errors if the brokers do not answer
// within three seconds.
func (k Cluster) CheckBatch(ctx context.Context, topic string, partition int32, offset int64) error {
	cl, err := k.Client(kgo.RetryTimeout(2 * time.Second))
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	topics, err := kadm.NewClient(cl).ListTopics(ctx, topic)
	if err != nil {
		return fmt.Errorf("read the leader of %s[%d]: %w", topic, partition, err)
	}
	for {
		found, err := Fetch(ctx, cl, topics[topic], FetchRange{Partition: partition, Offset: offset, MaxBytes: 1 << 20})
		if err == nil {
			err = kerr.ErrorForCode(found.ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("read %s[%d] at offset %d: %w", topic, partition, offset, err)
		}
		got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
			KeepControlRecords: true, Offset: offset, IsolationLevel: kgo.ReadCommitted(), Topic: topic, Partition: partition,
		}, found, kgo.DefaultDecompressor(), nil)
		switch {
		case len(got.Records) > 0, got.Err == nil && next == offset:
			return nil
		case got.Err != nil:
			return &DamagedBatchError{topic, partition, next, batchEnd(found.RecordBatches, next), got.Err}
		}
		offset = next // behind aborted records
	}
}

// batchEnd returns the offset behind the batch that contains an offset, 0 if no legible header of a
// batch states it. It reads headers alone: the offset of the first record, the length, the magic
// byte and the offset delta of the last record.
func batchEnd(batches []byte, offset int64) int64 {
	for len(batches) >= 27 {
		first, length := int64(binary.BigEndian.Uint64(batches)), int(int32(binary.BigEndian.Uint32(batches[8:])))
		delta := int32(binary.BigEndian.Uint32(batches[23:]))
		if batches[16] != 2 || delta < 0 || length <= 0 || first > offset {
			return 0
		}
		if next := first + int64(delta) + 1; next > offset {
			return next
		}
		if length+12 > len(batches) {
			return 0
		}
		batches = batches[length+12:]
	}
	return 0
}
