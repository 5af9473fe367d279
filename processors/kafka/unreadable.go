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

// UnreadableError says that a partition cannot be read at an offset without a decision.
type UnreadableError struct {
	Topic     string
	Partition int32
	Offset    int64 // the next to be read
	Lost      int64 // how many records from there on are gone; 0 if none, or if the brokers do not say
	Err       error
}

// Unreadable is cause as an UnreadableError. It asks the brokers for a moment what is lost. at names the partition and the
// offset.
func (k Cluster) Unreadable(ctx context.Context, at UnreadableError, cause error) error {
	at.Err = cause
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
		at.Lost = max(0, s.Offset-at.Offset)
	}
	return &at
}

func (e *UnreadableError) Error() string {
	gap := ""
	if e.Lost > 0 {
		gap = fmt.Sprintf("; offsets %d to %d are gone: %d records", e.Offset, e.Offset+e.Lost-1, e.Lost)
	}
	return fmt.Sprintf("%s[%d] cannot be read at offset %d%s: %v. Nothing was skipped; the other partitions go on", e.Topic, e.Partition, e.Offset, gap, e.Err)
}

func (e *UnreadableError) Unwrap() error { return e.Err }

// StopsPartition says whether a fetch error means that reading on is not possible without a decision. The client retries by
// itself what can be retried, and reports the rest once.
func StopsPartition(err error) bool {
	var loss *kgo.ErrDataLoss
	var ke *kerr.Error
	return errors.As(err, &loss) || errors.Is(err, kgo.ErrMaxDecompress) || errors.Is(err, kerr.CorruptMessage) ||
		errors.Is(err, kerr.UnknownTopicID) || errors.As(err, &ke) && !ke.Retriable
}
