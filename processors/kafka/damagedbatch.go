package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// DamagedBatchError means that a batch in the log of a partition cannot be decoded: its checksum is
// wrong, its format is unknown, it cannot be decompressed, or is larger than MaxBatchBytes then.
type DamagedBatchError struct {
	Topic     string
	Partition int32
	Offset    int64 // the first offset to read that is in the batch
	Next      int64 // the offset behind the batch; 0 if its header is not legible
	Err       error // of the client
}

func (e *DamagedBatchError) Error() string {
	where := fmt.Sprintf("offset %d", e.Offset)
	if e.Next > e.Offset+1 {
		where = fmt.Sprintf("offsets %d to %d", e.Offset, e.Next-1)
	}
	return fmt.Sprintf("the batch of %s[%d] at %s cannot be decoded: %v", e.Topic, e.Partition, where, e.Err)
}

func (e *DamagedBatchError) Unwrap() error { return e.Err }

// CheckBatch fetches from an offset as a consumer of committed records does, with a request of its
// own. It returns a DamagedBatchError if the client cannot decode what it would return next, nil if
// a record can be read or if no record follows, and other errors if the brokers do not answer
// within three seconds. A negative offset is the start of the log.
func (k Cluster) CheckBatch(ctx context.Context, at Position) error {
	cl, err := k.Client(kgo.RetryTimeout(2 * time.Second))
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	adm := kadm.NewClient(cl)
	topics, err := adm.ListTopics(ctx, at.Topic)
	if err != nil {
		return fmt.Errorf("read the leader of %s[%d]: %w", at.Topic, at.Partition, err)
	}
	if at.Offset < 0 {
		starts, err := adm.ListStartOffsets(ctx, at.Topic)
		if start, ok := starts.Lookup(at.Topic, at.Partition); err != nil || !ok || start.Err != nil {
			return fmt.Errorf("read the start of %s[%d]: %w", at.Topic, at.Partition, errors.Join(err, start.Err))
		} else {
			at.Offset = start.Offset
		}
	}
	for {
		found, err := Fetch(ctx, cl, topics[at.Topic], FetchRange{Partition: at.Partition, Offset: at.Offset, MaxBytes: 1 << 20})
		if err == nil {
			err = kerr.ErrorForCode(found.ErrorCode)
		}
		if err != nil {
			return fmt.Errorf("read %s[%d] at offset %d: %w", at.Topic, at.Partition, at.Offset, err)
		}
		got, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{
			KeepControlRecords: true, Offset: at.Offset, IsolationLevel: kgo.ReadCommitted(), Topic: at.Topic, Partition: at.Partition,
		}, found, Decompressor(cl), nil)
		switch {
		case len(got.Records) > 0, got.Err == nil && next == at.Offset:
			return nil
		case got.Err != nil:
			first, end := failedBatch(found.RecordBatches, next)
			return &DamagedBatchError{at.Topic, at.Partition, max(at.Offset, first), end, got.Err}
		}
		at.Offset = next // behind aborted records
	}
}

// failedBatch returns the first offset of the batch at which the client has stopped, and the offset
// behind the batch, 0 if no legible header states it. The client has gone to the offset next: one
// too far if it does not know the format. It reads headers alone: the offset of the first record,
// the length, the magic byte and the offset delta of the last record.
func failedBatch(batches []byte, next int64) (first, end int64) {
	for len(batches) >= 27 {
		first, length := int64(binary.BigEndian.Uint64(batches)), int(int32(binary.BigEndian.Uint32(batches[8:])))
		delta, magic := int32(binary.BigEndian.Uint32(batches[23:])), batches[16]
		switch {
		case magic < 2:
			return next, 0
		case magic > 2 || delta < 0 || length <= 0 || first > next:
			return first, 0
		}
		if end := first + int64(delta) + 1; end > next {
			return first, end
		}
		if length+12 > len(batches) {
			break
		}
		batches = batches[length+12:]
	}
	return next, 0
}

// DamagedChangelogError means that a batch of a changelog cannot be read. Its changes are a part of
// the state, so no restore goes past it.
type DamagedChangelogError struct {
	Topic     string
	Partition int32
	Err       error // names the offsets and the cause
}

func (e *DamagedChangelogError) Error() string {
	return fmt.Sprintf("the changelog %s[%d] is damaged: %v. Nothing was skipped: a state without this batch would be wrong. "+
		"If another replica has the batch whole, make it the leader. A process whose store is past the batch can take the partition over, "+
		"and a savepoint that is past it can be restored. Without either the state has to begin again from the inputs", e.Topic,
		e.Partition, e.Err)
}

func (e *DamagedChangelogError) Unwrap() error { return e.Err }
