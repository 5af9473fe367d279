package bridge

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/weirhq/weir/stream"
)

// fullAnswer is an answer of 1000 records of resources that were leased, with another iterator.
func fullAnswer() string {
	var list []string
	item := func(v int) string {
		return fmt.Sprintf(`{"pk":{"S":"R#client#12"},"sk":{"S":"resource-%d"},"version":{"N":"%d"},"owner_region":{"S":"eu-west-1"},"writer_region":{"S":"eu-west-1"},`+
			`"pool_id":{"S":"pool"},"key":{"S":"pool#user-%d"},"lease_expires":{"N":"1800000000000"},"leases_total":{"N":"12"},"req":{"S":"abcdefghijkl"}}`, v, v, v)
	}
	for i := range pageRecords {
		list = append(list, fmt.Sprintf(`{"awsRegion":"eu-west-1","dynamodb":{"ApproximateCreationDateTime":1800000000,"Keys":{"pk":{"S":"R#client#12"},"sk":{"S":"resource-%d"}},`+
			`"NewImage":%s,"OldImage":%s,"SequenceNumber":"1%020d","SizeBytes":300,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventID":"%032d","eventName":"MODIFY","eventSource":"aws:dynamodb","eventVersion":"1.1"}`, i, item(i+2), item(i+1), i, i))
	}
	return `{"Records":[` + strings.Join(list, ",") + `],"NextShardIterator":"next"}`
}

// BenchmarkRead is the bridge's own work on full pages, from the bytes of DynamoDB's answer to the changes of a Flush: one
// reader, so that records/s are those of a core with GOMAXPROCS=1.
func BenchmarkRead(b *testing.B) {
	text := fullAnswer()
	region := aws.Config{
		Region: home, BaseEndpoint: aws.String("http://nowhere"), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		HTTPClient: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) { return answer(r, 200, text), nil })},
	}
	x, err := New(Config{
		Regions: []string{home}, Table: testTable, DB: func(string) *dynamodb.Client { return dynamodb.NewFromConfig(region) },
		Streams: func(string) *dynamodbstreams.Client { return dynamodbstreams.NewFromConfig(region) },
	}, stream.Task{
		Get: func(byte, []byte) ([]byte, error) { return nil, nil }, Scan: func(byte, []byte, func(k, v []byte) error) error { return nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	x.started = true // nothing else is read
	r := &reader{Bridge: x, stream: &streamReader{Bridge: x, arn: "arn"}, at: shard{ID: "s"}, iterator: "first"}
	ch := &stream.Changes{}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	began := time.Now()
	for b.Loop() {
		if got, err := r.step(context.Background(), "read"); err != nil || got != fullPage {
			b.Fatal(got, err)
		}
		if err := x.Flush(stream.Commit{NowMs: time.Now().UnixMilli()}, ch); err != nil || len(ch.List) != pageRecords+1 {
			b.Fatal(err, len(ch.List))
		}
		ch.Reset()
	}
	b.ReportMetric(float64(b.N*pageRecords)/time.Since(began).Seconds(), "records/s")
}
