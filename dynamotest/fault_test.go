package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

func faults(t *testing.T, c *Cloud, f ...Fault) {
	t.Helper()
	if err := c.SetFaults(f...); err != nil {
		t.Fatal(err)
	}
}

// has ends all faults and reports whether the table has the item.
func has(t *testing.T, c *Cloud, db *dynamodb.Client, pk string) bool {
	t.Helper()
	faults(t, c)
	out, err := db.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("leases"), Key: m{"pk": s(pk), "sk": s("0")}, ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item != nil
}

func tryPut(ctx context.Context, db *dynamodb.Client, pk string) error {
	_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String("leases"), Item: m{"pk": s(pk), "sk": s("0")}})
	return err
}

func TestFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, db := open(t, Config{Regions: []string{"a", "b"}})
		create(t, db)
		ctx := t.Context()
		codes := map[string]int{}
		for i := range 40 {
			faults(t, c, Fault{Kind: Throttle, Rate: 1, Operation: "PutItem", Region: "a", Table: "leases"})
			name, _ := code(tryPut(ctx, db, "throttled"))
			codes[name]++
			faults(t, c, Fault{Kind: ServerError, Rate: 1})
			pk := fmt.Sprint("failed", i)
			if name, _ := code(tryPut(ctx, db, pk)); name != "InternalServerError" {
				t.Fatal(name)
			}
			codes[fmt.Sprint(has(t, c, db, pk))]++
		}
		if codes["ThrottlingException"] == 0 || codes["ProvisionedThroughputExceededException"] == 0 || codes["true"] == 0 || codes["false"] == 0 || len(codes) != 4 || has(t, c, db, "throttled") {
			t.Fatal(codes)
		}
		faults(t, c, Fault{Kind: Throttle, Rate: 1, Operation: "GetItem"}, Fault{Kind: Throttle, Rate: 1, Region: "b"}, Fault{Kind: Throttle, Rate: 1, Table: "other"})
		if err := tryPut(ctx, db, "elsewhere"); err != nil {
			t.Fatal(err)
		}
		faults(t, c, Fault{Kind: LostAnswer, Rate: 1})
		if err := tryPut(ctx, db, "lost"); err == nil || !has(t, c, db, "lost") {
			t.Fatal("want the answer lost and the write done", err)
		}
		faults(t, c, Fault{Kind: Unreachable, Rate: 1, Region: "a"})
		if err := tryPut(ctx, db, "unreached"); err == nil || has(t, c, db, "unreached") {
			t.Fatal("want the write not done", err)
		}
		faults(t, c, Fault{Kind: Slow, Rate: 1, Delay: Span{time.Minute, time.Minute}})
		start := time.Now()
		if err := tryPut(ctx, db, "slow"); err != nil || time.Since(start) != time.Minute {
			t.Fatal(err, time.Since(start))
		}
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if err := tryPut(short, db, "late"); !errors.Is(err, context.DeadlineExceeded) || !has(t, c, db, "late") {
			t.Fatal(err)
		}
	})
}

// TestRetriesOfTheSDK: the SDK's client retries the faults, because their errors are those that
// DynamoDB marks as retryable.
func TestRetriesOfTheSDK(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, plain := open(t, Config{Seed: 7})
		create(t, plain)
		db := c.Region("eu-west-1").Client()
		faults(t, c, Fault{Kind: Throttle, Rate: 0.1}, Fault{Kind: ServerError, Rate: 0.1}, Fault{Kind: LostAnswer, Rate: 0.1}, Fault{Kind: Unreachable, Rate: 0.1})
		failed := 0
		for i := range 100 {
			if tryPut(t.Context(), db, fmt.Sprint(i)) != nil {
				failed++
			}
		}
		if failed > 15 { // 0.34 to the power of three
			t.Fatalf("%d of 100 writes failed in each of three tries", failed)
		}
	})
}

func TestBatchesAreThrottledInParts(t *testing.T) {
	c, db := open(t, Config{})
	create(t, db)
	ctx := t.Context()
	faults(t, c, Fault{Kind: Throttle, Rate: 0.5})
	todo := map[string][]types.WriteRequest{}
	for i := range 25 {
		todo["leases"] = append(todo["leases"], types.WriteRequest{PutRequest: &types.PutRequest{Item: m{"pk": s(fmt.Sprint(i)), "sk": s("0")}}})
	}
	parts := 0
	for len(todo) > 0 {
		out, err := db.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: todo})
		if name, _ := code(err); err != nil && name != "ThrottlingException" && name != "ProvisionedThroughputExceededException" {
			t.Fatal(err)
		} else if err == nil {
			todo, parts = out.UnprocessedItems, parts+1
		}
	}
	var keys []map[string]types.AttributeValue
	for i := range 25 {
		keys = append(keys, m{"pk": s(fmt.Sprint(i)), "sk": s("0")})
	}
	gets, found := map[string]types.KeysAndAttributes{"leases": {Keys: keys, ConsistentRead: aws.Bool(true)}}, 0
	for len(gets) > 0 {
		out, err := db.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: gets})
		if err != nil {
			continue
		}
		found += len(out.Responses["leases"])
		gets = out.UnprocessedKeys
		parts++
	}
	if found != 25 || parts < 4 {
		t.Fatal(found, parts)
	}
}

// TestSameSeedSameAnswers: the same seed and the same calls give the same answers.
func TestSameSeedSameAnswers(t *testing.T) {
	history := func(seed uint64) (out string) {
		clock := NewManualClock(time.Unix(1_800_000_000, 0))
		profile := Hostile()
		profile.Faults = profile.Faults[:3] // without Slow: nothing advances the clock during a delayed answer
		c, err := New(Config{Regions: []string{"a", "b"}, Profile: profile, Seed: seed, Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		h := c.Region("a").Handler()
		for i := range 300 {
			body := fmt.Sprintf(`{"TableName":"t","Item":{"pk":{"S":"%d"},"a":{"S":"x"}}}`, i%7)
			op := "PutItem"
			switch {
			case i == 0:
				op, body = "CreateTable", `{"TableName":"t","BillingMode":"PAY_PER_REQUEST","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"a","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"GlobalSecondaryIndexes":[{"IndexName":"all","KeySchema":[{"AttributeName":"a","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`
			case i%3 == 0:
				op, body = "Scan", `{"TableName":"t","IndexName":"all"}`
			case i%5 == 0:
				op, body = "DeleteItem", fmt.Sprintf(`{"TableName":"t","Key":{"pk":{"S":"%d"}}}`, i%7)
			}
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			r.Header.Set("X-Amz-Target", itemTarget+op)
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			clock.Advance(time.Duration(i%4) * 40 * time.Millisecond)
			out += fmt.Sprintln(w.Code, w.Body)
		}
		return out
	}
	one := history(1)
	if one != history(1) {
		t.Error("the same seed gives other answers")
	}
	if one == history(2) {
		t.Error("another seed gives the same answers")
	}
}

func TestAccessKey(t *testing.T) {
	c, db := open(t, Config{AccessKeyID: "right"})
	create(t, db) // with the right access key id
	wrong := c.regions[0].AWS()
	wrong.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "wrong", SecretAccessKey: "x"}, nil
	})
	if name, _ := code(tryPut(t.Context(), dynamodb.NewFromConfig(wrong), "a")); name != "UnrecognizedClientException" {
		t.Fatal(name)
	}
	wrong.Credentials = aws.AnonymousCredentials{}
	if name, _ := code(tryPut(t.Context(), dynamodb.NewFromConfig(wrong), "a")); name != "MissingAuthenticationTokenException" {
		t.Fatal(name)
	}
}

func TestHandlerOverTCP(t *testing.T) {
	c, _ := open(t, Config{})
	srv := httptest.NewServer(c.regions[0].Handler())
	defer srv.Close()
	cfg := c.regions[0].AWS()
	cfg.HTTPClient, cfg.BaseEndpoint = srv.Client(), &srv.URL
	db := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	create(t, db)
	put(t.Context(), t, db, m{"pk": s("a"), "sk": s("0")})
	faults(t, c, Fault{Kind: LostAnswer, Rate: 1})
	if err := tryPut(t.Context(), db, "b"); err == nil || !has(t, c, db, "b") {
		t.Fatal(err)
	}
	resp, err := srv.Client().Get(srv.URL)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// TestCloseLeavesNothing: a bubble fails if a goroutine remains in it.
func TestCloseLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New(Config{Regions: []string{"a", "b"}})
		if err != nil {
			t.Fatal(err)
		}
		faults(t, c, Fault{Kind: Slow, Rate: 1, Delay: Span{time.Hour, time.Hour}, Operation: "ListTables"})
		failed := make(chan error)
		for _, r := range c.Regions() {
			db := client(r)
			if name, _ := code(tryPut(t.Context(), db, "a")); name != "ResourceNotFoundException" {
				t.Fatal(name)
			}
			go func() {
				_, err := db.ListTables(t.Context(), &dynamodb.ListTablesInput{})
				failed <- err
			}()
		}
		synctest.Wait() // both requests are waiting
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		for range c.Regions() {
			if err := <-failed; err == nil {
				t.Fatal("a request was answered after Close")
			}
		}
		if err := tryPut(t.Context(), client(c.regions[0]), "a"); err == nil {
			t.Fatal("a closed cloud answers")
		}
	})
}

func TestServe(t *testing.T) {
	c, _ := open(t, Config{Regions: []string{"a", "b"}})
	var listeners []net.Listener
	for range c.Regions() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
	}
	if err := c.Serve(t.Context(), listeners[0]); err == nil {
		t.Fatal("one listener for two regions")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Serve(ctx, listeners...) }()
	for i, l := range listeners {
		cfg := c.regions[i].AWS()
		cfg.HTTPClient, cfg.BaseEndpoint = nil, aws.String("http://"+l.Addr().String())
		create(t, dynamodb.NewFromConfig(cfg))
		if c.regions[i].tables["leases"] == nil {
			t.Fatal("the second region has the table of the first")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := c.Serve(t.Context(), listeners...); err == nil {
		t.Fatal("a closed listener is served")
	}
}
