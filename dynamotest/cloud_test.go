package dynamotest

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

type m = map[string]types.AttributeValue

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func n(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

// open returns a cloud and a client of its first region that sees each fault itself.
func open(t testing.TB, cfg Config) (*Cloud, *dynamodb.Client) {
	t.Helper()
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, client(c.regions[0])
}

func client(r *Region) *dynamodb.Client {
	return r.Client(func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
}

// create makes the table "leases" with the keys pk and sk, and a sparse index "free" by pool and since.
func create(t testing.TB, db *dynamodb.Client, change ...func(*dynamodb.CreateTableInput)) {
	t.Helper()
	in := &dynamodb.CreateTableInput{
		TableName: aws.String("leases"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: "S"},
			{AttributeName: aws.String("sk"), AttributeType: "S"},
			{AttributeName: aws.String("pool"), AttributeType: "S"},
			{AttributeName: aws.String("since"), AttributeType: "N"},
		},
		KeySchema: keySchema("pk", "sk"),
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{
			{IndexName: aws.String("free"), KeySchema: keySchema("pool", "since"), Projection: &types.Projection{ProjectionType: "KEYS_ONLY"}},
		},
		StreamSpecification: &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	}
	for _, f := range change {
		f(in)
	}
	if _, err := db.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
}

func keySchema(names ...string) []types.KeySchemaElement {
	keys := []types.KeySchemaElement{{AttributeName: &names[0], KeyType: types.KeyTypeHash}}
	if len(names) > 1 {
		keys = append(keys, types.KeySchemaElement{AttributeName: &names[1], KeyType: types.KeyTypeRange})
	}
	return keys
}

func put(ctx context.Context, t testing.TB, db *dynamodb.Client, it m) {
	t.Helper()
	if _, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("leases"), Item: it}); err != nil {
		t.Fatal(err)
	}
}

// code returns the name of the error, as clients branch on it, and its text.
func code(err error) (name, text string) {
	var e smithy.APIError
	if errors.As(err, &e) {
		return e.ErrorCode(), e.ErrorMessage()
	}
	return "", ""
}

func TestPutGet(t *testing.T) {
	_, db := open(t, Config{})
	create(t, db)
	ctx := t.Context()
	put(ctx, t, db, m{"pk": s("a"), "sk": s("1"), "v": n("1.50")})
	got, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("leases"), Key: m{"pk": s("a"), "sk": s("1")}, ReturnConsumedCapacity: "TOTAL"})
	if err != nil {
		t.Fatal(err)
	}
	if v := got.Item["v"].(*types.AttributeValueMemberN).Value; v != "1.5" || len(got.Item) != 3 || *got.ConsumedCapacity.CapacityUnits != 0.5 {
		t.Fatalf("%v %v", got.Item, got.ConsumedCapacity)
	}
	_, err = db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("leases"), Item: m{"pk": s("a"), "sk": s("1")}, ConditionExpression: aws.String("attribute_not_exists(pk)"),
		ReturnValuesOnConditionCheckFailure: "ALL_OLD",
	})
	var failed *types.ConditionalCheckFailedException
	if !errors.As(err, &failed) || len(failed.Item) != 3 {
		t.Fatal(err)
	}
}
