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

// EndOpen ends whatever transaction an earlier life of txnID left open: the coordinator aborts it, or finishes a commit
// that was under way, before it answers. After it the committed offsets are stable.
func EndOpen(ctx context.Context, cl *kgo.Client, txnID string, timeout time.Duration) error {
	_, err := initProducer(ctx, cl, txnID, timeout)
	return err
}

// initProducer takes the transactional id: every other holder is fenced.
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
			return nil, fmt.Errorf("settle transactions of %s: %w", txnID, err)
		}
		if pause.For(ctx, wait); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// retryable is the one place that decides whether asking the broker again can help.
func retryable(err error) bool {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		switch ke {
		case kerr.TransactionalIDAuthorizationFailed, kerr.ClusterAuthorizationFailed, kerr.GroupAuthorizationFailed,
			kerr.TopicAuthorizationFailed, kerr.InvalidTransactionTimeout, kerr.UnsupportedVersion, kerr.SaslAuthenticationFailed:
			return false
		}
		return true // the coordinator moves, loads, or ends a transaction
	}
	return !errors.Is(err, kgo.ErrClientClosed) && !errors.Is(err, context.Canceled)
}
