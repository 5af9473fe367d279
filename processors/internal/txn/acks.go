package txn

import (
	"context"
	"errors"
	"sync"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// Acks waits for the records of one transaction. The first that fails drops what is still buffered: any failed record
// means abort.
type Acks struct {
	client *kgo.Client
	wg     sync.WaitGroup
	mu     sync.Mutex
	err    error
}

// NewAcks waits for the acknowledgements of records produced by client.
func NewAcks(client *kgo.Client) *Acks { return &Acks{client: client} }

// Add expects the outcome of one more record.
func (a *Acks) Add() { a.wg.Add(1) }

// Acked takes the outcome of one record. own gets the first fault that is the record's own; nil for a barrier.
func (a *Acks) Acked(ctx context.Context, own *error, err error) {
	defer a.wg.Done()
	if err == nil {
		return
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

// Wait returns the first error once every record has its outcome.
func (a *Acks) Wait() error {
	a.wg.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// isRecordFault says whether a record would be refused again, however healthy the brokers are.
func isRecordFault(err error) bool {
	if _, ok := errors.AsType[*partitionError](err); ok {
		return true
	}
	for _, e := range []error{
		kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.InvalidTimestamp, kerr.InvalidTopicException,
		kerr.UnknownTopicOrPartition, kerr.UnknownTopicID, kerr.TopicAuthorizationFailed, kerr.PolicyViolation,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
