package bridge

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"

	"github.com/weirhq/weir/stream"
)

// fullAnswer is a response with 1000 records of leased resources and a next iterator.
func fullAnswer() string {
	var list []string
	item := func(v int) string {
		return fmt.Sprintf(`{"pk":{"S":"R#client#12"},"sk":{"S":"resource-%d"},"version":{"N":"%d"},"owner_region":{"S":"eu-west-1"},"writer_region":{"S":"eu-west-1"},`+
			`"pool_id":{"S":"pool"},"holder":{"S":"pool#user-%d"},"lease_expires_ms":{"N":"1800000000000"},"leases_total":{"N":"12"},"req":{"S":"abcdefghijkl"}}`, v, v, v)
	}
	for i := range pageRecords {
		list = append(list, fmt.Sprintf(`{"awsRegion":"eu-west-1","dynamodb":{"ApproximateCreationDateTime":1800000000,"Keys":{"pk":{"S":"R#client#12"},"sk":{"S":"resource-%d"}},`+
			`"NewImage":%s,"OldImage":%s,"SequenceNumber":"1%020d","SizeBytes":300,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventID":"%032d","eventName":"MODIFY","eventSource":"aws:dynamodb","eventVersion":"1.1"}`, i, item(i+2), item(i+1), i, i))
	}
	return `{"Records":[` + strings.Join(list, ",") + `],"NextShardIterator":"next"}`
}

// shardSource is a bridge that reads one shard and nothing else.
type shardSource struct{ *Bridge }

// Read implements stream.Source.
func (s shardSource) Read(ctx context.Context, q *stream.SourceQueue) error {
	s.queue = q
	r := &shardReader{Bridge: s.Bridge, stream: &streamReader{Bridge: s.Bridge, arn: "arn"}, at: shard{ID: "s"}, iterator: "first"}
	for {
		if got, err := r.step(ctx, "read"); err != nil || got != fullPage {
			return fmt.Errorf("page %d: %w", got, err)
		}
	}
}

// BenchmarkRead measures the work of the bridge on full pages, from the bytes of DynamoDB's
// response to the changes of a Flush. With -cpu 1, records/s are those of one CPU.
func BenchmarkRead(b *testing.B) {
	text := fullAnswer()
	region := aws.Config{
		Region: home, BaseEndpoint: aws.String("http://nowhere"), Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		HTTPClient: &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) { return answer(r, 200, text), nil })},
	}
	cfg := Config{
		Regions: []string{home}, Table: testTable, DB: func(string) *dynamodb.Client { return dynamodb.NewFromConfig(region) },
		Streams: func(string) *dynamodbstreams.Client { return dynamodbstreams.NewFromConfig(region) },
	}
	// A queue of one byte holds one page.
	h, err := stream.FromSource(1, func(t stream.Task) (stream.Source, error) {
		x, err := New(cfg, t)
		return shardSource{x}, err
	})(stream.Task{
		Get:   func(byte, []byte) ([]byte, error) { return nil, nil },
		Range: func(byte, []byte, []byte, func(k, v []byte) error) error { return nil },
	})
	if err != nil {
		b.Fatal(err)
	}
	defer h.(stream.Closer).Close()
	ch := &stream.Changes{}
	flush := func() {
		ch.Reset()
		if err := h.Flush(stream.Commit{NowMs: time.Now().UnixMilli()}, ch); err != nil {
			b.Fatal(err)
		}
	}
	flush() // the region's name
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	began := time.Now()
	for b.Loop() {
		for flush(); len(ch.List) == 0; flush() {
			runtime.Gosched()
		}
		if len(ch.List) != pageRecords+1 {
			b.Fatal(len(ch.List))
		}
	}
	b.ReportMetric(float64(b.N*pageRecords)/time.Since(began).Seconds(), "records/s")
}
