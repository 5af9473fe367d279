package table

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/weirhq/weir/lease"
)

// Table asks the table of leases, by the endpoints of its regions. It is safe for use by many goroutines.
type Table struct {
	Name string
	// New makes the client of a region.
	New func(region string) *dynamodb.Client
	// Skew is the most by which clocks may be off, Timeout is for one request with its answer, Attempts how often it is sent
	// at most. None of them may be 0.
	Skew     time.Duration
	Timeout  time.Duration
	Attempts int

	mu      sync.Mutex
	clients map[string]*dynamodb.Client
	retryer aws.Retryer
}

// Client is the client of a region.
func (t *Table) Client(region string) *dynamodb.Client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c, ok := t.clients[region]
	if !ok {
		if t.clients == nil {
			t.clients = map[string]*dynamodb.Client{}
		}
		c = t.New(region)
		t.clients[region] = c
	}
	return c
}

// Options are those of every request, for one that is not made here.
func (t *Table) Options(o *dynamodb.Options) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.retryer == nil {
		t.retryer = retry.NewStandard(func(o *retry.StandardOptions) {
			// Short enough for all attempts to fit into the timeout: else it hides why they failed.
			o.MaxAttempts, o.MaxBackoff = t.Attempts, t.Timeout/time.Duration(2*t.Attempts)
		})
	}
	o.Retryer = t.retryer
}

// Get reads one row by a consistent read. A row that is not there is nil.
func (t *Table) Get(ctx context.Context, region string, p lease.PrimaryKey) (Item, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	begun := time.Now()
	out, err := t.Client(region).GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.Name, Key: PrimaryKey(p), ConsistentRead: aws.Bool(true)}, t.Options)
	if err != nil {
		return nil, t.ClassifyError(region, err)
	}
	return out.Item, t.checkClock(out.ResultMetadata, begun)
}

// Query reads a partition of the table by a consistent read.
func (t *Table) Query(ctx context.Context, region, partition string) (items []Item, err error) {
	return t.Pages(ctx, region, &dynamodb.QueryInput{
		TableName: &t.Name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk"),
		ExpressionAttributeNames: map[string]string{"#pk": PK}, ExpressionAttributeValues: Item{":pk": S(partition)},
	})
}

// Pages reads all pages of a query, or the first if it has a limit.
func (t *Table) Pages(ctx context.Context, region string, in *dynamodb.QueryInput) (items []Item, err error) {
	for {
		out, err := t.Page(ctx, region, in)
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

// Page reads one page of a query.
func (t *Table) Page(ctx context.Context, region string, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	begun := time.Now()
	out, err := t.Client(region).Query(ctx, in, t.Options)
	if err != nil {
		return nil, t.ClassifyError(region, err)
	}
	return out, t.checkClock(out.ResultMetadata, begun)
}

// Keys reads a key's rows of all regions, as they are in ours.
func (t *Table) Keys(ctx context.Context, region, partition string) (map[string]lease.Row, error) {
	items, err := t.Query(ctx, region, partition)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]lease.Row, len(items))
	for _, item := range items {
		owner := Text(item, SK)
		if owner == "" {
			return nil, fmt.Errorf("%w: a row of %s has no %s", ErrTable, partition, SK)
		}
		if rows[owner], err = Row(item); err != nil {
			return nil, fmt.Errorf("%w: row %s of %s: %w", ErrTable, owner, partition, err)
		}
	}
	return rows, nil
}

// Write makes a write of the protocol. A condition that does not hold is no error: then the row is the one that refused it.
func (t *Table) Write(ctx context.Context, region string, p lease.PrimaryKey, w *lease.Write, with Item) (row lease.Row, ok bool, err error) {
	item, ok, err := t.WriteItem(ctx, region, p, w, with)
	if err != nil {
		return lease.Row{}, false, err
	}
	if row, err = Row(item); err != nil {
		return row, false, fmt.Errorf("%w: row %s of %s: %w", ErrTable, p.Sort, p.Partition, err)
	}
	return row, ok, nil
}

// WriteItem is Write, and gives the row with all that it has.
func (t *Table) WriteItem(ctx context.Context, region string, p lease.PrimaryKey, w *lease.Write, with Item) (item Item, ok bool, err error) {
	with[WriterRegion] = S(region)
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	begun := time.Now()
	out, err := t.Client(region).UpdateItem(ctx, Update(t.Name, p, w, with), t.Options)
	var refused *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &refused):
		return refused.Item, false, nil
	case err != nil:
		return nil, false, t.ClassifyError(region, err)
	}
	return out.Attributes, true, t.checkClock(out.ResultMetadata, begun)
}

// checkClock compares our clock with that of who answered, whose has seconds only. It was asked some time after begun, and answered
// some time before its answer was here: a slow answer is no clock that is off.
func (t *Table) checkClock(m middleware.Metadata, begun time.Time) error {
	server, ok := awsmiddleware.GetServerTime(m)
	at, ok2 := awsmiddleware.GetResponseAt(m)
	if !ok || !ok2 {
		return nil
	}
	if begun.Sub(server) > t.Skew+time.Second || server.Sub(at) > t.Skew {
		return fmt.Errorf("%w: it says %s, DynamoDB %s; %v are allowed", ErrClock, at.UTC().Format(time.RFC3339), server.UTC().Format(time.RFC3339), t.Skew)
	}
	return nil
}
