package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// UnreadableError means that a partition cannot be read at an offset: an operator has to decide how
// to continue.
type UnreadableError struct {
	Topic     string
	Partition int32
	Offset    int64 // next offset to read
	Lost      int64 // number of deleted records from Offset on; 0 if no record was deleted or the brokers do not answer
	Resume    int64 // next offset that is not known to be unreadable; 0 if it is not known
	Err       error
}

// Unreadable returns cause as an UnreadableError at the topic, partition and offset of at. To fill
// in Lost it asks the brokers for at most three seconds.
func (k Cluster) Unreadable(ctx context.Context, at UnreadableError, cause error) error {
	at.Err = cause
	if damaged := new(DamagedBatchError); errors.As(cause, &damaged) {
		at.Resume = damaged.Next
	}
	plain, err := k.Client(kgo.RetryTimeout(2 * time.Second))
	if err != nil {
		return &at
	}
	defer plain.Close()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	starts, err := kadm.NewClient(plain).ListStartOffsets(ctx, at.Topic)
	if err != nil {
		return &at
	}
	if s, ok := starts.Lookup(at.Topic, at.Partition); ok && s.Err == nil {
		if at.Lost = max(0, s.Offset-at.Offset); at.Lost > 0 {
			at.Resume = s.Offset
		}
	}
	return &at
}

func (e *UnreadableError) Error() string {
	gap := ""
	if e.Lost > 0 {
		gap = fmt.Sprintf("; offsets %d to %d are gone: %d records", e.Offset, e.Offset+e.Lost-1, e.Lost)
	}
	if e.Resume > 0 {
		gap += fmt.Sprintf("; offset %d is the next to read", e.Resume)
	}
	return fmt.Sprintf("%s[%d] cannot be read at offset %d%s: %v. Nothing was skipped. The other partitions continue", e.Topic, e.Partition,
		e.Offset, gap, e.Err)
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// StopsPartition reports whether a fetch error requires a decision of an operator. The client
// retries retriable errors itself and reports the other errors once.
func StopsPartition(err error) bool {
	var loss *kgo.ErrDataLoss
	var ke *kerr.Error
	return errors.As(err, &loss) || Damaged(err) || errors.Is(err, kerr.UnknownTopicID) || errors.As(err, &ke) && !ke.Retriable
}

// Skippable reports whether a fetch error is about records, and not about the topic or the rights
// of the client: the partition can be read again behind them.
func Skippable(err error) bool {
	return Damaged(err) || errors.Is(err, kerr.OffsetOutOfRange)
}

// Damaged reports whether a fetch error is about the bytes of a batch: it cannot be decoded, or is
// larger than a client decompresses.
func Damaged(err error) bool {
	damaged := new(DamagedBatchError)
	return errors.Is(err, kgo.ErrMaxDecompress) || errors.Is(err, kerr.CorruptMessage) || errors.As(err, &damaged)
}
