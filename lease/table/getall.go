package table

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
)

// GetAll reads the rows of up to 100 keys by a consistent read. Rows that are not there are not in the answer.
func (t *Table) GetAll(ctx context.Context, region string, keys []lease.PrimaryKey) (map[lease.PrimaryKey]Item, error) {
	want := types.KeysAndAttributes{ConsistentRead: aws.Bool(true)}
	for _, k := range keys {
		want.Keys = append(want.Keys, PrimaryKey(k))
	}
	found := map[lease.PrimaryKey]Item{}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	for len(want.Keys) > 0 {
		out, err := t.Client(region).BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{t.Name: want}}, t.Options)
		if err != nil {
			return nil, t.ClassifyError(region, err)
		}
		for _, item := range out.Responses[t.Name] {
			found[lease.PrimaryKey{Partition: Text(item, PK), Sort: Text(item, SK)}] = item
		}
		want = out.UnprocessedKeys[t.Name]
		if len(want.Keys) > 0 {
			select {
			case <-time.After(rand.N(100 * time.Millisecond)):
			case <-ctx.Done():
				return nil, fmt.Errorf("%w: %d of %d keys were not read in time", ErrThrottled, len(want.Keys), len(keys))
			}
		}
	}
	return found, nil
}
