package txn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/internal/pause"
)

// EndOpen ends a transaction that an earlier process under txnID left open. Before it answers, the
// coordinator aborts the transaction or completes a commit that had begun. Afterwards the committed
// offsets are stable.
func EndOpen(ctx context.Context, cl *kgo.Client, txnID string, timeout time.Duration) error {
	_, err := initProducer(ctx, cl, txnID, timeout)
	return err
}

// initProducer acquires the transactional id. Every other process that uses the id is fenced.
func initProducer(ctx context.Context, cl *kgo.Client, txnID string, timeout time.Duration) (*kmsg.InitProducerIDResponse, error) {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionalID = &txnID
		req.TransactionTimeoutMillis = int32(timeout.Milliseconds())
		resp, err := req.RequestWith(ctx, cl)
		if err == nil {
			err = kerr.ErrorForCode(resp.ErrorCode)
		}
		switch {
		case err == nil:
			return resp, nil
		case !retryable(err):
			return nil, fmt.Errorf("end open transactions of %s: %w", txnID, err)
		}
		if pause.For(ctx, wait); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// retryable reports whether a repeated request for a producer id may succeed.
func retryable(err error) bool {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		switch ke {
		case kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.GroupAuthorizationFailed,
			kerr.TopicAuthorizationFailed, kerr.InvalidTransactionTimeout, kerr.UnsupportedVersion, kerr.SaslAuthenticationFailed:
			return false
		}
		return true // the coordinator moves, loads, or is ending a transaction
	}
	return !errors.Is(err, kgo.ErrClientClosed) && !errors.Is(err, context.Canceled)
}
