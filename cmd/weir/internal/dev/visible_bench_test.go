package dev

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

// BenchmarkVisible measures how soon the spend caches of two datacentres show an event of eu, while
// 4,000 events per second arrive. Each request to the other datacentre takes 100 ms longer. It then
// measures the cache of eu while us is cut off, for b.N times 50 ms.
func BenchmarkVisible(b *testing.B) {
	b.Run("connected", func(b *testing.B) { benchVisible(b, []string{"eu", "us"}) })
	b.Run("cut", func(b *testing.B) { benchVisible(b, []string{"eu"}, "--fault", "link=eu-us@0s+24h") })
}

func benchVisible(b *testing.B, caches []string, args ...string) {
	b.Helper()
	var rest sync.WaitGroup
	b.Cleanup(rest.Wait)                             // after weir dev has ended, because cleanups run in the opposite order
	const warm, interval = 50, 50 * time.Millisecond // events before those that are measured
	limit := time.Minute + 2*time.Duration(warm+b.N)*interval
	text := devOutput(b, limit, append(args, "--dcs", "eu,us", "--rate", "2000", "--latency", "100ms")...)
	place := regexp.MustCompile(`^datacentre (eu|us): API http://([^,]+), Kafka (.+)$`)
	apis, brokers := map[string]string{}, map[string]string{}
	for len(apis) < 2 && text.Scan() {
		if m := place.FindStringSubmatch(text.Text()); m != nil {
			apis[m[1]], brokers[m[1]] = m[2], m[3]
		}
	}
	if len(apis) < 2 {
		b.Fatal(text.Err())
	}
	rest.Go(func() {
		for text.Scan() { // so that weir dev does not wait
		}
	})
	p, err := kafka.NewProducer(kafka.Cluster{Brokers: []string{brokers["eu"]}}, events.EventsTopic)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	sent := make([]time.Time, warm+b.N)
	var mu sync.Mutex // guards sent
	took := map[string][]time.Duration{}
	var looks sync.WaitGroup
	ctx, cancel := context.WithTimeout(b.Context(), limit)
	defer cancel()
	for _, dc := range caches {
		looks.Go(func() {
			list := make([]time.Duration, 0, len(sent))
			c := api.NewClient(apis[dc])
			defer c.Close()
			for len(list) < len(sent) && pause.For(ctx, time.Millisecond) {
				n, now := visible(ctx, c), time.Now()
				mu.Lock()
				for len(list) < n {
					list = append(list, now.Sub(sent[len(list)]))
				}
				mu.Unlock()
			}
			mu.Lock()
			took[dc] = list[min(warm, len(list)):]
			mu.Unlock()
		})
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for i := range sent {
		<-tick.C
		now := time.Now()
		value, err := proto.Marshal(&eventspb.AdEvent{
			EventId: fmt.Sprint("visible-", i), Type: eventspb.EventType_EVENT_TYPE_CLICK, Account: visibleAccount, Campaign: "c", PriceMicros: 1,
			Currency: "USD", EventMs: now.UnixMilli(), IngestMs: now.UnixMilli(),
		})
		mu.Lock()
		sent[i] = now
		mu.Unlock()
		if err == nil {
			err = p.Produce(b.Context(), events.Shard(visibleAccount, 2), nil, value)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	looks.Wait()
	for dc, list := range took {
		if len(list) < b.N {
			b.Fatalf("%s shows %d events of %d", dc, len(list), b.N)
		}
		slices.Sort(list)
		b.ReportMetric(float64(list[b.N/2].Milliseconds()), dc+"-p50-ms")
		b.ReportMetric(float64(list[b.N*99/100].Milliseconds()), dc+"-p99-ms")
	}
	b.ReportMetric(0, "ns/op")
}

// visibleAccount is the account of the events of BenchmarkVisible, each of one micro.
const visibleAccount = "visible"

// visible returns the number of events of visibleAccount that a spend cache shows.
func visible(ctx context.Context, c *api.Client) (n int) {
	res, err := c.GetAccount(ctx, &weirpb.GetAccountRequest{Account: visibleAccount})
	if err != nil {
		return 0 // no dataset yet
	}
	for _, r := range res.GetRows() {
		n += int(r.GetChargedMicros())
	}
	return n
}
