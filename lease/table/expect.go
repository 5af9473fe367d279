package table

import (
	"context"
	"errors"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
)

// Expect is what a row must be for a Put or Delete: at a version, and last written through a region. The zero value is no row.
type Expect struct {
	Version int64
	Writer  string
}

// AnyVersion expects nothing in particular.
func AnyVersion() Expect { return Expect{Version: -1} }

func (e Expect) condition() (condition *string, names map[string]string, values Item) {
	switch e {
	case AnyVersion():
		return nil, nil, nil
	case Expect{}:
		return aws.String("attribute_not_exists(#pk)"), map[string]string{"#pk": PK}, nil
	}
	return aws.String("#version = :version AND #writer = :writer"), map[string]string{"#version": Version, "#writer": WriterRegion},
		Item{":version": N(e.Version), ":writer": S(e.Writer)}
}

// Put writes a whole row where what is expected is there. If it is not, found is what is: nil for no row.
func (t *Table) Put(ctx context.Context, region string, item Item, e Expect) (found Item, ok bool, err error) {
	in := &dynamodb.PutItemInput{TableName: &t.Name, Item: item, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.condition()
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	begun := time.Now()
	out, err := t.Client(region).PutItem(ctx, in, t.Options)
	var refused *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &refused):
		return refused.Item, reflect.DeepEqual(refused.Item, item), nil // equal: an answer was lost, and this is our own write
	case err != nil:
		return nil, false, t.ClassifyError(region, err)
	}
	return item, true, t.checkClock(out.ResultMetadata, begun)
}

// Delete removes a row where what is expected is there, or no row.
func (t *Table) Delete(ctx context.Context, region string, p lease.PrimaryKey, e Expect) (ok bool, err error) {
	in := &dynamodb.DeleteItemInput{TableName: &t.Name, Key: PrimaryKey(p), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.condition()
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	_, err = t.Client(region).DeleteItem(ctx, in, t.Options)
	var refused *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &refused):
		return refused.Item == nil, nil
	case err != nil:
		return false, t.ClassifyError(region, err)
	}
	return true, nil
}
