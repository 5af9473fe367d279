package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
)

// Get reads one item by a consistent read. It returns nil if there is no such item.
func (t *Table) Get(ctx context.Context, region string, p lease.PrimaryKey) (Item, error) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	begun := time.Now()
	out, err := t.Client(region).GetItem(ctx,
		&dynamodb.GetItemInput{TableName: &t.Name, Key: PrimaryKey(p), ConsistentRead: aws.Bool(true)}, t.Options)
	if err != nil {
		return nil, t.ClassifyError(region, err)
	}
	return out.Item, t.checkClock(out.ResultMetadata, begun)
}

// GetAll reads the items of up to 100 keys by a consistent read. Keys without an item are absent
// from the result.
func (t *Table) GetAll(ctx context.Context, region string, keys []lease.PrimaryKey) (map[lease.PrimaryKey]Item, error) {
	want := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
	for _, k := range keys {
		want.Keys = append(want.Keys, PrimaryKey(k))
	}
	found := map[lease.PrimaryKey]Item{}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	for len(want.Keys) > 0 {
		out, err := t.Client(region).BatchGetItem(ctx,
			&dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{t.Name: want}}, t.Options)
		if err != nil {
			return nil, t.ClassifyError(region, err)
		}
		for _, item := range out.Responses[t.Name] {
			found[lease.PrimaryKey{Partition: Text(item, PK), Sort: Text(item, SK)}] = item
		}
		want = out.UnprocessedKeys[t.Name]
		if len(want.Keys) > 0 && !pause.For(ctx, rand.N(100*time.Millisecond)) {
			return nil, fmt.Errorf("%w: %d of %d keys were not read in time", ErrThrottled, len(want.Keys), len(keys))
		}
	}
	return found, nil
}

// Query reads all items of a partition key by a consistent read.
func (t *Table) Query(ctx context.Context, region, partition string) (items []Item, err error) {
	return t.Pages(ctx, region, &dynamodb.QueryInput{
		TableName: &t.Name, ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk"),
		ExpressionAttributeNames: map[string]string{"#pk": PK}, ExpressionAttributeValues: Item{":pk": S(partition)},
	})
}

// Pages reads all pages of a query. If the query has a limit, it reads the first page only.
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

// Keys reads a key's rows, by region, as the replica of region has them.
func (t *Table) Keys(ctx context.Context, region, partition string) (map[string]lease.Row, error) {
	items, err := t.Query(ctx, region, partition)
	if err != nil {
		return nil, err
	}
	rows := make(map[string]lease.Row, len(items))
	for _, item := range items {
		owner := Text(item, SK)
		if owner == "" {
			return nil, fmt.Errorf("%w: an item of partition %s has no %s", ErrTable, partition, SK)
		}
		if rows[owner], err = Row(item); err != nil {
			return nil, fmt.Errorf("%w: row %s of %s: %w", ErrTable, owner, partition, err)
		}
	}
	return rows, nil
}
