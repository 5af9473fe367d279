package table

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/lease"
)

// Count adds to a number of a row, which begins at 0, and to its version. If the answer is lost it may be added twice.
func (t *Table) Count(ctx context.Context, region string, p lease.PrimaryKey, attribute string, n int64) error {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	_, err := t.Client(region).UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &t.Name, Key: PrimaryKey(p), UpdateExpression: aws.String("SET #writer = :writer ADD #n :n, #version :one"),
		ExpressionAttributeNames:  map[string]string{"#writer": WriterRegion, "#n": attribute, "#version": Version},
		ExpressionAttributeValues: Item{":writer": S(region), ":n": N(n), ":one": N(1)},
	}, t.Options)
	if err != nil {
		return t.ClassifyError(region, err)
	}
	return nil
}
