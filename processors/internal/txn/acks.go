package txn

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Acks waits for the acknowledgements of the records of one transaction. After the first failure it
// drops the records that are still buffered, because any failed record means an abort.
type Acks struct {
	client *kgo.Client
	wg     sync.WaitGroup
	mu     sync.Mutex
	err    error
}

// NewAcks returns an Acks for records that client produces.
func NewAcks(client *kgo.Client) *Acks { return &Acks{client: client} }

// Add registers one more record.
func (a *Acks) Add() { a.wg.Add(1) }

// Acked reports the outcome of record r. The first error that the record itself causes is stored in
// own, see isRecordFault. own is nil for a barrier.
func (a *Acks) Acked(ctx context.Context, own *error, r *kgo.Record, err error) {
	defer a.wg.Done()
	if err == nil {
		return
	}
	if _, explained := errors.AsType[*partitionError](err); r != nil && !explained {
		err = fmt.Errorf("produce to %s[%d]: %w", r.Topic, r.Partition, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if own != nil && *own == nil && isRecordFault(err) {
		*own = err
	}
	if a.err == nil {
		a.err = err
		a.wg.Go(func() { _ = a.client.AbortBufferedRecords(ctx) })
	}
}

// Wait waits for the outcome of every record and returns the first error. Without brokers the
// outcome of a record that was sent is not known before they are back, see Err.
func (a *Acks) Wait() error {
	a.wg.Wait()
	return a.Err()
}

// Err returns the first error so far. It waits for nothing.
func (a *Acks) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// isRecordFault reports whether err is a fault of the record: healthy brokers would reject it
// again. A missing right is not a fault of the record: it may be granted again. Nor is an unknown
// topic id: the topic was created again, and the client of the next session has its id.
func isRecordFault(err error) bool {
	if _, ok := errors.AsType[*partitionError](err); ok {
		return true
	}
	for _, e := range []error{
		kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.InvalidTopicException,
		kerr.UnknownTopicOrPartition, kerr.PolicyViolation,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
