package kafka

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Position is an offset in a partition.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
	Epoch     *int32 // leader epoch of the record before Offset; nil: not known
}

// UnreadableAfter is the time for which a batch is fetched again that cannot be decoded, before its
// partition counts as one that cannot be read.
const UnreadableAfter = 30 * time.Second

// UnreadableRetry is the time until a partition that cannot be read is fetched again. Readers
// that keep trying continue when a replica becomes the leader whose copy of a batch is whole.
// Each try may decompress MaxBatchBytes.
const UnreadableRetry = 30 * time.Second

// fetchRetry is the time until a partition is fetched again after an error that may pass. The
// client itself would fetch it again at once.
const fetchRetry = time.Second

// FailedFetch follows a partition that a client cannot read at a position. The zero value is that
// of a partition without a failure. A reader calls Failed for each error of the partition, and
// pauses it in its client after nil. Once Due returns true it calls Resume.
type FailedFetch struct {
	// After is the time for which a batch is fetched again. Defaults to UnreadableAfter.
	After time.Duration
	// AwaitRight is set by readers that outlast a missing right: it may be granted again, as a
	// password may be corrected. Other readers fail at once.
	AwaitRight bool

	at      int64     // the position
	since   time.Time // of the first failure there
	retryAt time.Time // the next fetch; zero if none is to come
}

// Failed takes the error of a fetch at a position. It returns nil if the error may pass, and
// otherwise why the partition cannot be read: an error of StopsPartition at once, and a
// DamagedBatchError if the partition has failed at the position for After and the batch there still
// cannot be decoded. To find that out it asks the brokers for at most three seconds.
func (f *FailedFetch) Failed(ctx context.Context, k Cluster, at Position, err error) error {
	now, after := time.Now(), f.After
	if f.AwaitRight && errors.Is(err, kerr.TopicAuthorizationFailed) {
		f.retryAt = now.Add(fetchRetry)
		return nil
	}
	if StopsPartition(err) {
		f.retryAt = now.Add(UnreadableRetry)
		if large := new(kgo.ErrDecompressTooLarge); errors.As(err, &large) {
			return &DamagedBatchError{at.Topic, at.Partition, large.Offset, large.NextOffset, kgo.ErrMaxDecompress}
		}
		return err
	}
	if after == 0 {
		after = UnreadableAfter
	}
	if f.since.IsZero() || f.at != at.Offset {
		f.at, f.since = at.Offset, now
	}
	f.retryAt = now.Add(fetchRetry)
	if now.Sub(f.since) < after {
		return nil
	}
	damaged := new(DamagedBatchError)
	if err := k.CheckBatch(ctx, at); errors.As(err, &damaged) {
		f.retryAt = now.Add(UnreadableRetry)
		return damaged
	}
	f.since = now // brokers or the network are the reason
	return nil
}

// Due reports, once after each call of Failed, that the partition is to be fetched again now.
func (f *FailedFetch) Due() bool {
	if f.retryAt.IsZero() || time.Now().Before(f.retryAt) {
		return false
	}
	f.retryAt = time.Time{}
	return true
}

// Resume makes a client read a paused partition again, after a Seek.
func Resume(cl *kgo.Client, at Position) {
	Seek(cl, at)
	cl.ResumeFetchPartitions(map[string][]int32{at.Topic: {at.Partition}})
}

// wakeAfter is the time after a Seek at which a client looks again for partitions to fetch.
const wakeAfter = 100 * time.Millisecond

// Seek sets a client to positions, each of another partition, with an offset that is not negative.
// No record behind them has been returned, but an error may have moved the client: past a batch of
// a format that it does not know. A member of a group needs ExplicitStarts.
func Seek(cl *kgo.Client, list ...Position) {
	if len(list) == 0 {
		return
	}
	// A member of a group ignores an offset to which it was set before without a record since,
	// wherever an error has moved it. So it is set to another offset in between.
	for _, beyond := range []int64{1, 0} {
		offsets := map[string]map[int32]kgo.EpochOffset{}
		for _, at := range list {
			if offsets[at.Topic] == nil {
				offsets[at.Topic] = map[int32]kgo.EpochOffset{}
			}
			set := kgo.EpochOffset{Epoch: -1, Offset: at.Offset + beyond}
			if at.Epoch != nil {
				set.Epoch = *at.Epoch
			}
			offsets[at.Topic][at.Partition] = set
		}
		cl.SetOffsets(offsets)
	}
	// While SetOffsets restarts its fetches, the client can lose the request to fetch of a
	// ResumeFetchPartitions that follows, and would then fetch nothing until another. To resume no
	// topic makes it look again.
	time.AfterFunc(wakeAfter, func() { cl.ResumeFetchTopics() })
}
