package api

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/queues"
)

// JobSource asks the shards of job queues that this process runs. Its method is called
// concurrently.
type JobSource interface {
	// Ask calls fn with the shard of a partition, one call at a time. fn must not wait. With
	// committed, it returns after what fn has changed has committed. Ask returns the error of fn as
	// it is. If this process does not run the partition now, it returns a *PartitionsError. Other
	// errors wrap ErrShardBusy or ErrUncertain.
	Ask(ctx context.Context, partition int32, committed bool, fn func(*queues.Shard) error) error
	// Shown returns the queues of a partition as of the last transaction that has committed. If
	// this process does not run the partition now, it returns a *PartitionsError.
	Shown(partition int32) (*queues.Shown, error)
	// Rows returns the values of rows of a partition, of one snapshot: nil for a row that does not
	// exist.
	Rows(ctx context.Context, partition int32, keys []RowKey) ([][]byte, error)
}

// RowKey is the key of a row.
type RowKey struct {
	Table byte
	Key   []byte
}

var (
	// ErrShardBusy means that too many questions wait for a shard.
	ErrShardBusy = errors.New("too many requests wait for the partition")
	// ErrUncertain means that the changes of a question may have committed, or not.
	ErrUncertain = errors.New("the request may count, or not")
)

// JobSink writes to jobs.submits. Its method is called concurrently.
type JobSink interface {
	// Submit writes records and returns their offsets, in the order of list. After an error some of
	// them may be written.
	Submit(ctx context.Context, list []JobRecord) (offsets []int64, err error)
}

// JobRecord is a record of jobs.submits.
type JobRecord struct {
	Partition int32
	*eventspb.JobSubmission
}

// JobID is the id of a job.
type JobID struct {
	Partition int32
	Number    jobqueue.ID
}

// String returns PARTITION-NUMBER.
func (id JobID) String() string { return fmt.Sprintf("%d-%d", id.Partition, id.Number) }

// ParseJobID parses the result of JobID.String.
func ParseJobID(s string) (id JobID, err error) {
	left, right, _ := strings.Cut(s, "-")
	partition, ok := decimal(left, 31)
	number, ok2 := decimal(right, 64)
	if !ok || !ok2 {
		return JobID{}, fmt.Errorf("%.40q is not the id of a job: ids are PARTITION-NUMBER, such as 3-4711", s)
	}
	return JobID{int32(partition), jobqueue.ID(number)}, nil
}

// decimal parses a number without a sign and leading zeros.
func decimal(s string, bits int) (n uint64, ok bool) {
	n, err := strconv.ParseUint(s, 10, bits)
	return n, err == nil && (s[0] != '0' || len(s) == 1)
}

// jobError gives an error of a shard its code. what names the object of the request.
func jobError(err error, what string) error {
	var code connect.Code
	switch {
	case err == nil:
		return nil
	case errors.Is(err, queues.ErrQueue), errors.Is(err, jobqueue.ErrUnknown), errors.Is(err, jobqueue.ErrAgent):
		code = connect.CodeNotFound
	case errors.Is(err, jobqueue.ErrStale), errors.Is(err, jobqueue.ErrEvicted), errors.Is(err, queues.ErrPolled),
		errors.Is(err, queues.ErrVersion):
		code = connect.CodeAborted
	case errors.Is(err, jobqueue.ErrIllegal), errors.Is(err, jobqueue.ErrAttempts), errors.Is(err, jobqueue.ErrKeyReused):
		code = connect.CodeFailedPrecondition
	case errors.Is(err, jobqueue.ErrInvalid):
		code = connect.CodeInvalidArgument
	case errors.Is(err, ErrShardBusy):
		return retryLater(errorf(connect.CodeResourceExhausted, "%s: %w: send the request again in a moment", what, err))
	case errors.Is(err, ErrUncertain):
		return errorf(connect.CodeUnavailable, "%s: %w: send the request again", what, err)
	default:
		return sourceError(err, what)
	}
	return errorf(code, "%s: %w", what, err)
}
