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

// Kinds of request errors, a closed set of metric labels.
const (
	throttled   = "throttled"
	unavailable = "unavailable"
	denied      = "denied"
	missing     = "missing" // the table, the stream or the shard does not exist
	expired     = "expired" // the iterator has expired
	trimmed     = "trimmed" // the records are past their retention
	refused     = "refused" // the endpoint does not know the operation or a parameter
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
	case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException",
		"MissingAuthenticationTokenException",
		"IncompleteSignatureException":
		return denied
	}
	return unavailable
}

// noRetry turns off the retries of the SDK: the bridge repeats requests itself, with its own
// pauses.
func noRetry(o *dynamodbstreams.Options) { o.Retryer = aws.NopRetryer{} }

func noRetryDB(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

// request sends one request with a time limit. An error is counted, and is a problem in the status
// of the region until the same operation succeeds.
func (b *Bridge) request(ctx context.Context, operation string, send func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, b.cfg.Timeout)
	defer cancel()
	err := send(limited)
	if err == nil {
		b.health.setProblem(operation, nil)
		return nil
	}
	b.cfg.Metrics.failures.WithLabelValues(b.region, errorKind(err)).Inc()
	b.log.Debug().Str("what", operation).Str("raw", err.Error()).Msg("request_failed")
	if ctx.Err() == nil { // otherwise the bridge itself has cancelled the request
		b.health.setProblem(operation, fmt.Errorf("%s: %s", operation, table.Cause(err)))
	}
	return fmt.Errorf("%s in %s: %w", operation, b.region, err)
}

// backoff is a pause that doubles from least to most.
type backoff struct{ least, most, next time.Duration }

// wait pauses. It returns false if ctx has ended.
func (w *backoff) wait(ctx context.Context) bool {
	w.next = min(max(2*w.next, w.least), w.most)
	return pause.For(ctx, w.next)
}

func (w *backoff) reset() { w.next = 0 }
