package bridge

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease/table"
)

// What can be wrong with a request: kinds of a metric, too.
const (
	throttled   = "throttled"
	unavailable = "unavailable"
	denied      = "denied"
	missing     = "missing" // the table, the stream or the shard
	expired     = "expired" // an iterator
	trimmed     = "trimmed" // the records are gone
	refused     = "refused" // the request makes no sense to whom it was sent
)

func errorKind(err error) string {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return unavailable
	}
	switch api.ErrorCode() {
	case "LimitExceededException", "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
		return throttled
	case "ResourceNotFoundException":
		return missing
	case "ExpiredIteratorException":
		return expired
	case "TrimmedDataAccessException":
		return trimmed
	case "ValidationException", "SerializationException", "UnknownOperationException":
		return refused
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "MissingAuthenticationTokenException",
		"IncompleteSignatureException":
		return denied
	}
	return unavailable
}

// noRetry are the options of requests that the SDK must not repeat: whoever sent it knows better when.
func noRetry(o *dynamodbstreams.Options) { o.Retryer = aws.NopRetryer{} }

func noRetryDB(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// ask sends one request, bounded in time. What it fails by is counted, and said of who until it goes well.
func (b *Bridge) ask(ctx context.Context, who string, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	err := send(ctx)
	if err == nil {
		b.health.setProblem(who, nil)
		return nil
	}
	b.cfg.Metrics.failures.WithLabelValues(b.region, errorKind(err)).Inc()
	b.log.Debug().Str("what", who).Str("raw", err.Error()).Msg("request_failed")
	if b.readCtx.Err() == nil { // else it is we who gave it up
		b.health.setProblem(who, fmt.Errorf("%s: %s", who, table.Cause(err)))
	}
	return fmt.Errorf("%s in %s: %w", who, b.region, err)
}

// backoff is a pause that doubles from least to most.
type backoff struct{ least, most, next time.Duration }

// wait pauses, and says whether to go on: not after ctx ended.
func (w *backoff) wait(ctx context.Context) bool {
	w.next = min(max(2*w.next, w.least), w.most)
	return pause.For(ctx, w.next)
}

func (w *backoff) reset() { w.next = 0 }
