package dynamotest

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

type m = map[string]types.AttributeValue

func s(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func n(v string) types.AttributeValue { return &types.AttributeValueMemberN{Value: v} }

// open returns a cloud and a client of its first region. The client does not retry.
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

// create creates the table "leases" with the keys pk and sk, and a sparse index "free" by pool and
// since.
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

// code returns the name of an error, on which clients branch, and its text.
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
	_, err = db.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: aws.String("leases"), Item: m{"pk": s("a"), "sk": s("1")}, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	if !errors.As(err, &failed) || failed.Item != nil {
		t.Fatal(err, failed.Item)
	}
}

// TestCapacity: units are those of DynamoDB: one for 4 KB read, half for an eventually consistent
// read; one for 1 KB written, of the larger of the old and the new item; and those of the indexes.
func TestCapacity(t *testing.T) {
	_, db := open(t, Config{})
	create(t, db)
	ctx := t.Context()
	write := func(it m) (total, table, index float64) {
		t.Helper()
		it["pk"], it["sk"] = s("a"), s("1")
		out, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("leases"), Item: it, ReturnConsumedCapacity: "INDEXES"})
		if err != nil {
			t.Fatal(err)
		}
		if in, ok := out.ConsumedCapacity.GlobalSecondaryIndexes["free"]; ok {
			index = *in.CapacityUnits
		}
		return *out.ConsumedCapacity.CapacityUnits, *out.ConsumedCapacity.Table.CapacityUnits, index
	}
	large := s(strings.Repeat("x", 5000))
	for i, x := range []struct {
		it   m
		want [3]float64
	}{
		{m{}, [3]float64{1, 1, 0}},
		{m{"x": large}, [3]float64{5, 5, 0}},
		{m{"pool": s("p"), "since": n("1")}, [3]float64{6, 5, 1}},
		{m{"pool": s("p"), "since": n("2")}, [3]float64{3, 1, 2}},
		{m{"pool": s("p"), "since": n("2"), "x": large}, [3]float64{5, 5, 0}},
	} {
		if a, b, c := write(x.it); [3]float64{a, b, c} != x.want {
			t.Errorf("write %d: %v %v %v, wanted %v", i, a, b, c, x.want)
		}
	}
	for consistent, want := range map[bool]float64{false: 1, true: 2} {
		get, err := db.GetItem(ctx, &dynamodb.GetItemInput{TableName: aws.String("leases"), Key: m{"pk": s("a"), "sk": s("1")}, ConsistentRead: &consistent, ReturnConsumedCapacity: "TOTAL"})
		if err != nil || *get.ConsumedCapacity.CapacityUnits != want {
			t.Error(get, err)
		}
		scan, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String("leases"), ConsistentRead: &consistent, ReturnConsumedCapacity: "TOTAL"})
		if err != nil || *scan.ConsumedCapacity.CapacityUnits != want {
			t.Error(scan, err)
		}
	}
}

// TestBatchGetIsBounded: the answer of a BatchGetItem has at most 16 MB; the other keys are
// unprocessed.
func TestBatchGetIsBounded(t *testing.T) {
	_, db := open(t, Config{})
	create(t, db)
	var keys []map[string]types.AttributeValue
	for i := range 45 {
		key := m{"pk": s(strconv.Itoa(i)), "sk": s("0")}
		keys = append(keys, key)
		put(t.Context(), t, db, m{"pk": key["pk"], "sk": key["sk"], "x": s(strings.Repeat("x", 400_000))})
	}
	todo, found, parts := map[string]types.KeysAndAttributes{"leases": {Keys: keys}}, 0, 0
	for len(todo) > 0 {
		out, err := db.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: todo})
		if err != nil {
			t.Fatal(err)
		}
		found += len(out.Responses["leases"])
		todo, parts = out.UnprocessedKeys, parts+1
	}
	if found != 45 || parts != 2 {
		t.Fatal(found, parts)
	}
}

// TestClockGoesBack: while the clock goes back, time stands still in the cloud.
func TestClockGoesBack(t *testing.T) {
	clock := NewManualClock(time.Unix(1_800_000_000, 0))
	_, db := open(t, Config{Clock: clock, Profile: Profile{TableDelay: time.Second}})
	create(t, db)
	clock.Advance(time.Second)
	put(t.Context(), t, db, m{"pk": s("a"), "sk": s("0")})
	clock.Advance(-time.Hour)
	put(t.Context(), t, db, m{"pk": s("b"), "sk": s("0")}) // the table still exists
}
