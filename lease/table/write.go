package table

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
)

// Write makes a write of the protocol through a region, and sets the attributes of with beside it.
// If a condition fails, ok is false, err is nil, and row is the row that failed it.
func (t *Table) Write(ctx context.Context, region string, p lease.PrimaryKey, w *lease.Write,
	with Item,
) (row lease.Row, ok bool, err error) {
	item, ok, err := t.WriteItem(ctx, region, p, w, with)
	if err != nil {
		return lease.Row{}, false, err
	}
	if row, err = Row(item); err != nil {
		return row, false, fmt.Errorf("%w: row %s of %s: %w", ErrTable, p.Sort, p.Partition, err)
	}
	return row, ok, nil
}

// WriteItem is Write, and returns the item with all its attributes.
func (t *Table) WriteItem(ctx context.Context, region string, p lease.PrimaryKey, w *lease.Write,
	with Item,
) (item Item, ok bool, err error) {
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

// Expect is the condition of Put and Delete: the item has this version and this writer region. The
// zero value is the condition that there is no item.
type Expect struct {
	Version int64
	Writer  string
}

// AnyVersion is the condition that always holds.
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

// Put writes a whole item if the condition e holds. If it fails, ok is false and found is the
// present item, nil without an item.
func (t *Table) Put(ctx context.Context, region string, item Item, e Expect) (found Item, ok bool, err error) {
	in := &dynamodb.PutItemInput{
		TableName: &t.Name, Item: item, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
	in.ConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.condition()
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	begun := time.Now()
	out, err := t.Client(region).PutItem(ctx, in, t.Options)
	var refused *types.ConditionalCheckFailedException
	switch {
	case errors.As(err, &refused):
		return refused.Item, reflect.DeepEqual(refused.Item, item), nil // equal: this is our own write, whose answer was lost
	case err != nil:
		return nil, false, t.ClassifyError(region, err)
	}
	return item, true, t.checkClock(out.ResultMetadata, begun)
}

// Delete removes an item if the condition e holds. It returns true as well if there is no item.
func (t *Table) Delete(ctx context.Context, region string, p lease.PrimaryKey, e Expect) (ok bool, err error) {
	in := &dynamodb.DeleteItemInput{
		TableName: &t.Name, Key: PrimaryKey(p), ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
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

// Count adds n to a number of an item, and one to its version. Both begin at 0. If an answer is
// lost, the SDK may send the request again, and n is added twice.
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
