package dynamotest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// BenchmarkPutItem writes one item after the other: "sdk" with the SDK's client over a connection
// in memory, "client" with a client whose requests are answered at once without a server, "handler"
// with the same requests but without client and connection. "cpu-ns/op" is the CPU time of the
// process: run it with -cpu 1 for the rate of one CPU.
func BenchmarkPutItem(b *testing.B) {
	writeWith := func(b *testing.B, db *dynamodb.Client) {
		measure(b, func(i int) {
			it := m{"pk": s(strconv.Itoa(i % 100_000)), "sk": s("eu-west-1"), "pool": s("p"), "since": n(strconv.Itoa(i)), "version": n(strconv.Itoa(i))}
			if _, err := db.PutItem(b.Context(), &dynamodb.PutItemInput{TableName: aws.String("leases"), Item: it}); err != nil {
				b.Fatal(err)
			}
		})
	}
	b.Run("sdk", func(b *testing.B) {
		_, db := open(b, Config{})
		create(b, db)
		writeWith(b, db)
	})
	b.Run("client", func(b *testing.B) {
		c, _ := open(b, Config{})
		cfg := c.regions[0].AWS()
		cfg.HTTPClient = nullClient{}
		writeWith(b, dynamodb.NewFromConfig(cfg))
	})
	b.Run("handler", func(b *testing.B) {
		c, db := open(b, Config{})
		create(b, db)
		h := c.regions[0].Handler()
		r := &http.Request{Method: http.MethodPost, Header: http.Header{"X-Amz-Target": {"DynamoDB_20120810.PutItem"}}}
		measure(b, func(i int) {
			v := strconv.Itoa(i)
			body := `{"TableName":"leases","Item":{"pk":{"S":"` + strconv.Itoa(i%100_000) + `"},"sk":{"S":"eu-west-1"},"pool":{"S":"p"},"since":{"N":"` + v + `"},"version":{"N":"` + v + `"}}}`
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusOK {
				b.Fatal(w.Body)
			}
		})
	})
}

// BenchmarkBatchInsert inserts items of the size of a resource's row, 25 in a request, and reports
// the number of items a second. "sdk" uses the SDK's client over connections in memory, eight at
// once for each processor; "handler" sends the same requests without client and connection.
func BenchmarkBatchInsert(b *testing.B) {
	const text = `INSERT INTO "leases" VALUE {'pk': ?, 'sk': ?, 'client_id': ?, 'pool_id': ?, 'version': ?, 'owner_region': ?, 'writer_region': ?, 'lease_available': ?, 'shard': ?}`
	// The index is that of available resources.
	indexed := func(in *dynamodb.CreateTableInput) {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: aws.String("lease_available"), AttributeType: "S"})
		in.GlobalSecondaryIndexes[0].KeySchema = keySchema("lease_available", "sk")
		in.AttributeDefinitions = slices.DeleteFunc(in.AttributeDefinitions, func(a types.AttributeDefinition) bool {
			return *a.AttributeName == "pool" || *a.AttributeName == "since"
		})
	}
	report := func(b *testing.B, before int64) {
		b.ReportMetric(25*float64(b.N)/b.Elapsed().Seconds(), "items/s")
		b.ReportMetric(float64(cpu(b)-before)/float64(25*b.N), "cpu-ns/item")
	}
	b.Run("sdk", func(b *testing.B) {
		_, db := open(b, Config{})
		create(b, db, indexed)
		var next atomic.Int64
		b.SetParallelism(8)
		b.ReportAllocs()
		before := cpu(b)
		b.RunParallel(func(p *testing.PB) {
			for p.Next() {
				first := int(next.Add(25)) - 25
				in := &dynamodb.BatchExecuteStatementInput{}
				for i := first; i < first+25; i++ {
					in.Statements = append(in.Statements, statement(text, s("R#client-7#"+strconv.Itoa(i%64)), s("resource-"+strconv.Itoa(i)), s("client-7"), s("pool-3"), n("1"),
						s("eu-west-1"), s("eu-west-1"), s("client-7#pool-3#eu-west-1"), n(strconv.Itoa(i%64))))
				}
				out, err := db.BatchExecuteStatement(b.Context(), in)
				if err != nil || len(out.Responses) != 25 || out.Responses[0].Error != nil {
					b.Error(out, err)
					return
				}
			}
		})
		report(b, before)
	})
	b.Run("handler", func(b *testing.B) {
		c, db := open(b, Config{})
		create(b, db, indexed)
		h := c.regions[0].Handler()
		r := &http.Request{Method: http.MethodPost, Header: http.Header{"X-Amz-Target": {"DynamoDB_20120810.BatchExecuteStatement"}}}
		quoted := strconv.Quote(text)
		b.ReportAllocs()
		before := cpu(b)
		for k := range b.N {
			body := []byte(`{"Statements":[`)
			for i := 25 * k; i < 25*k+25; i++ {
				if i > 25*k {
					body = append(body, ',')
				}
				body = fmt.Appendf(body, `{"Parameters":[{"S":"R#client-7#%d"},{"S":"resource-%d"},{"S":"client-7"},{"S":"pool-3"},{"N":"1"},{"S":"eu-west-1"},{"S":"eu-west-1"},{"S":"client-7#pool-3#eu-west-1"},{"N":"%d"}],"Statement":%s}`, i%64, i, i%64, quoted)
			}
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(append(body, "]}"...))), int64(len(body)+2)
			w := httptest.NewRecorder()
			if h.ServeHTTP(w, r); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "Error") {
				b.Fatal(w.Body)
			}
		}
		report(b, before)
	})
}

// nullClient answers each request at once.
type nullClient struct{}

func (nullClient) Do(r *http.Request) (*http.Response, error) {
	_, err := io.Copy(io.Discard, r.Body)
	h := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"1"}}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader("{}")), ContentLength: 2, Request: r}, err
}

// measure calls f and reports its CPU time.
func measure(b *testing.B, f func(i int)) {
	b.Helper()
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu(b)
	for i := range b.N {
		f(i)
	}
	b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op")
}

// cpu returns the CPU time of the process so far, in nanoseconds.
func cpu(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}

// TestBytesPerItem measures the memory of items of the lease table with its index and stream: a
// million must fit into 1.5 GiB.
func TestBytesPerItem(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 200,000 items, which -short leaves out")
	}
	c, db := open(t, Config{})
	create(t, db)
	h := c.regions[0].Handler()
	r := &http.Request{Method: http.MethodPost, Header: http.Header{"X-Amz-Target": {"DynamoDB_20120810.PutItem"}}}
	const items = 200_000
	for i := range items {
		body := fmt.Sprintf(`{"TableName":"leases","Item":{"pk":{"S":"R#client-7#%d"},"sk":{"S":"resource-%09d"},"pool":{"S":"client-7.pool.eu-west-1.%d"},"since":{"N":"17%011d"},"owner_region":{"S":"eu-west-1"},"writer_region":{"S":"eu-west-1"},"version":{"N":"%d"},"leases_total":{"N":"3"}}}`, i%64, i, i%10, i, i)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	runtime.GC()
	var mem runtime.MemStats
	runtime.ReadMemStats(&mem)
	each := mem.HeapAlloc / items
	t.Logf("%d items: %d bytes each", items, each)
	if each > 3<<29/1_000_000 {
		t.Errorf("an item takes %d bytes: a million items take more than 1.5 GiB", each)
	}
	runtime.KeepAlive(c)
}
