package agent

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/leasetable"
)

// table is the table of leases, by the endpoints of its regions.
type table struct {
	cfg *Config

	mu      sync.Mutex
	clients map[string]*dynamodb.Client
}

func (t *table) client(region string) *dynamodb.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.clients[region]
	if !ok {
		c = t.cfg.Client(region)
		t.clients[region] = c
	}
	return c
}

func (t *table) options(o *dynamodb.Options) { o.RetryMaxAttempts = t.cfg.Attempts }

// query reads a partition of the table by a consistent read.
func (t *table) query(ctx context.Context, region, partition string) (items []leasetable.Item, err error) {
	return t.pages(ctx, region, &dynamodb.QueryInput{
		TableName: &t.cfg.Table, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk"),
		ExpressionAttributeNames: map[string]string{"#pk": leasetable.PK}, ExpressionAttributeValues: leasetable.Item{":pk": leasetable.S(partition)},
	})
}

// pages reads all pages of a query, or the first if it has a limit.
func (t *table) pages(ctx context.Context, region string, in *dynamodb.QueryInput) (items []leasetable.Item, err error) {
	for {
		out, err := t.page(ctx, region, in)
		if err != nil {
			return nil, err
		}
		items = append(items, out.Items...)
		if len(out.LastEvaluatedKey) == 0 || in.Limit != nil {
			return items, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func (t *table) page(ctx context.Context, region string, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	out, err := t.client(region).Query(ctx, in, t.options)
	if err != nil {
		return nil, t.failed(err)
	}
	return out, t.checkClock(out.ResultMetadata)
}

// keys reads a key's rows of all regions, as they are in ours.
func (t *table) keys(ctx context.Context, region, partition string) (map[string]lease.Row, error) {
	items, err := t.query(ctx, region, partition)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]lease.Row, len(items))
	for _, item := range items {
		owner := leasetable.Text(item, leasetable.SK)
		if owner == "" {
			return nil, fmt.Errorf("%w: a row of %s has no %s", ErrTable, partition, leasetable.SK)
		}
		if rows[owner], err = leasetable.Row(item); err != nil {
			return nil, fmt.Errorf("%w: row %s of %s: %w", ErrTable, owner, partition, err)
		}
	}
	return rows, nil
}

// write makes a write of the protocol. A condition that does not hold is no error: then the row is the one that refused it.
func (t *table) write(ctx context.Context, region string, p lease.Primary, w *lease.Write, with leasetable.Item) (row lease.Row, ok bool, err error) {
	with[leasetable.WriterRegion] = leasetable.S(region)
	ctx, cancel := context.WithTimeout(ctx, t.cfg.Timeout)
	defer cancel()
	out, err := t.client(region).UpdateItem(ctx, leasetable.Update(t.cfg.Table, p, w, with), t.options)
	var refused *types.ConditionalCheckFailedException
	var item leasetable.Item
	switch {
	case errors.As(err, &refused):
		item = refused.Item
	case err != nil:
		return lease.Row{}, false, t.failed(err)
	default:
		if err := t.checkClock(out.ResultMetadata); err != nil {
			return lease.Row{}, false, err
		}
		item, ok = out.Attributes, true
	}
	if row, err = leasetable.Row(item); err != nil {
		return row, false, fmt.Errorf("%w: row %s of %s: %w", ErrTable, p.Sort, p.Partition, err)
	}
	return row, ok, nil
}

// checkClock compares our clock with that of who answered. The answer's has seconds only.
func (t *table) checkClock(m middleware.Metadata) error {
	server, ok := awsmiddleware.GetServerTime(m)
	at, ok2 := awsmiddleware.GetResponseAt(m)
	if !ok || !ok2 {
		return nil
	}
	off := at.Sub(server)
	if off > t.cfg.Skew+time.Second || off < -t.cfg.Skew {
		return fmt.Errorf("%w: it says %s, DynamoDB %s; %v are allowed", ErrClock, at.UTC().Format(time.RFC3339), server.UTC().Format(time.RFC3339), t.cfg.Skew)
	}
	return nil
}

// failed says which of our errors an error of the SDK is.
func (t *table) failed(err error) error {
	kind := ErrUnavailable
	var api smithy.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode() {
		case "ResourceNotFoundException":
			kind = fmt.Errorf("%w: %s (weir table apply)", ErrTable, t.cfg.Table)
		case "ValidationException", "SerializationException", "UnknownOperationException":
			kind = ErrTable
		case "ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded":
			kind = ErrThrottled
		case "AccessDeniedException", "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "MissingAuthenticationTokenException",
			"IncompleteSignatureException":
			kind = ErrDenied
		}
	}
	return fmt.Errorf("%w: %w", kind, err)
}
