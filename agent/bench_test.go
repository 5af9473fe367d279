package agent

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// BenchmarkGetCached returns a lease from memory.
func BenchmarkGetCached(b *testing.B) {
	w := newFixture(b, dynamotest.Profile{}, linearRegion)
	w.register(linearRegion, 1)
	var trips atomic.Int64
	a := w.agent(linearRegion, func(c *Config) {
		c.CacheTTL = time.Hour
		c.Observe = func(call Call) { trips.Add(int64(call.RoundTrips)) }
	})
	get(b.Context(), b, a, "k", time.Hour)
	a.running.Wait()
	trips.Store(0)
	b.ReportAllocs()
	for b.Loop() {
		get(b.Context(), b, a, "k", time.Hour)
	}
	b.ReportMetric(float64(trips.Load()), "round-trips")
	if trips.Load() > 0 {
		b.Errorf("%d round trips", trips.Load())
	}
}

// BenchmarkGetExisting returns a lease that is in the table and not in memory, by one request.
// "memory" measures the whole call on dynamotest. "own" gives the request to a transport that
// repeats a recorded answer, and compares with a bare Query of the SDK: own-cpu-ns/op is the CPU
// time of the agent beside the SDK's.
func BenchmarkGetExisting(b *testing.B) {
	existing := func(b *testing.B, client *dynamodb.Client) *Agent {
		w := newFixture(b, dynamotest.Profile{}, linearRegion)
		w.register(linearRegion, 1)
		first := w.agent(linearRegion)
		get(b.Context(), b, first, "k", time.Hour)
		first.running.Wait()
		a := w.agent(linearRegion, func(c *Config) {
			c.CacheTTL, c.SettingsTTL = 1, time.Hour
			if theirs := c.Client(linearRegion); client != nil {
				c.Client = func(string) *dynamodb.Client { return client }
				cut := client.Options().HTTPClient.(*tape)
				cut.from = theirs.Options().HTTPClient
			}
		})
		get(b.Context(), b, a, "k", time.Hour)
		return a
	}
	b.Run("memory", func(b *testing.B) {
		a := existing(b, nil)
		b.ReportAllocs()
		for b.Loop() {
			get(b.Context(), b, a, "k", time.Hour)
		}
	})
	b.Run("own", func(b *testing.B) {
		t := &tape{}
		client := dynamodb.New(dynamodb.Options{
			Region: linearRegion, HTTPClient: t, Credentials: credentials.NewStaticCredentialsProvider("a", "a", ""), BaseEndpoint: aws.String("http://dynamodb." + linearRegion + ".dynamotest"),
		})
		a := existing(b, client)
		query := &dynamodb.QueryInput{
			TableName: aws.String(testTable), ConsistentRead: aws.Bool(true), KeyConditionExpression: aws.String("#pk = :pk"),
			ExpressionAttributeNames:  map[string]string{"#pk": table.PK},
			ExpressionAttributeValues: table.Item{":pk": table.S(lease.KeyPartition("c", "p", "k"))},
		}
		if _, err := client.Query(b.Context(), query); err != nil {
			b.Fatal(err)
		}
		t.from = nil // from now on the transport repeats the last answer
		const block = 200
		var agents, bare []float64
		for b.Loop() {
			agents = append(agents, spent(b, func() {
				for range block {
					get(b.Context(), b, a, "k", time.Hour)
				}
			})/block)
			bare = append(bare, spent(b, func() {
				for range block {
					if _, err := client.Query(b.Context(), query, a.table.Options); err != nil {
						b.Fatal(err)
					}
				}
			})/block)
		}
		b.ReportMetric(median(agents), "agent-cpu-ns/op")
		b.ReportMetric(median(bare), "sdk-cpu-ns/op")
		b.ReportMetric(median(agents)-median(bare), "own-cpu-ns/op")
	})
}

// BenchmarkGetNew leases new resources of a pool with many resources in one bucket: the time must
// not depend on their number. Each leased resource is replaced by a new one, outside get-cpu-ns/op.
func BenchmarkGetNew(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := newFixture(b, dynamotest.Profile{}, linearRegion)
			w.stock(linearRegion, n, 1)
			var tries atomic.Int64
			a := w.agent(linearRegion, func(c *Config) { c.Observe = func(call Call) { tries.Add(int64(call.Tries)) } })
			get(b.Context(), b, a, "first", time.Hour)
			a.running.Wait()
			var each, cpu []float64
			i := 0
			for b.Loop() {
				begun := time.Now()
				cpu = append(cpu, spent(b, func() {
					get(b.Context(), b, a, fmt.Sprint("k", i), time.Hour)
					a.running.Wait() // includes settling and prefetching
				}))
				each = append(each, float64(time.Since(begun).Nanoseconds()))
				item := table.PrimaryKey(lease.ResourceRow("c", fmt.Sprint("more-", i)))
				item[table.Version], item[table.Owner] = table.N(1), table.S(linearRegion)
				item[table.AvailableMs], item[table.Bucket] = table.N(int64(n+i)), table.S(lease.Bucket("c", "p", linearRegion, 0))
				w.put(linearRegion, item)
				i++
			}
			b.ReportMetric(median(each), "get-ns/op")
			b.ReportMetric(median(cpu), "get-cpu-ns/op")
			b.ReportMetric(float64(tries.Load())/float64(i+1), "tries/op")
		})
	}
}

// tape is a transport that records the last answer of the transport from, and repeats it once from
// is nil.
type tape struct {
	from interface {
		Do(*http.Request) (*http.Response, error)
	}
	header http.Header
	body   []byte
}

func (t *tape) Do(r *http.Request) (*http.Response, error) {
	if t.from != nil {
		resp, err := t.from.Do(r)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		t.header = resp.Header
		if t.body, err = io.ReadAll(resp.Body); err != nil {
			return nil, err
		}
	} else if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	h := t.header.Clone()
	h.Set("Date", time.Now().UTC().Format(http.TimeFormat)) // the agent compares it with its clock
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(bytes.NewReader(t.body)), ContentLength: int64(len(t.body)), Request: r}, nil
}

// spent returns the CPU time of the process while f ran, in nanoseconds.
func spent(b *testing.B, f func()) float64 {
	b.Helper()
	used := func() int64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return u.Utime.Nano() + u.Stime.Nano()
	}
	before := used()
	f()
	return float64(used() - before)
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}
