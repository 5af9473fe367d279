package bridge

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/stream"
)

// flaw spoils a run on purpose.
type flaw struct {
	spoil func(*stream.Changes)
	trip  func(*http.Request, http.RoundTripper) (*http.Response, error)
}

// nasty adds to what dynamotest does: iterators that expire, children that are listed late.
func nasty(seed uint64, f flaw) func(*http.Request, http.RoundTripper) (*http.Response, error) {
	var mu sync.Mutex
	rng := rand.New(rand.NewPCG(seed, 11))
	happens := func(rate float64) bool {
		mu.Lock()
		defer mu.Unlock()
		return rng.Float64() < rate
	}
	return func(r *http.Request, to http.RoundTripper) (*http.Response, error) {
		switch op := operation(r); {
		case op == "GetRecords" && happens(0.02):
			return answer(r, 400, `{"__type":"com.amazonaws.dynamodb.v20120810#ExpiredIteratorException","message":"Iterator expired."}`), nil
		case op == "DescribeStream" && happens(0.3):
			filtered := false
			body(r, func(s string) string { filtered = strings.Contains(s, "CHILD_SHARDS"); return s })
			if filtered {
				return answer(r, 200, `{"StreamDescription":{"Shards":[]}}`), nil
			}
		}
		if f.trip != nil {
			return f.trip(r, to)
		}
		return to.RoundTrip(r)
	}
}

// runStreams lets two regions write for a while, each bridged by handlers that are thrown away at random, and judges.
func runStreams(t *testing.T, seed uint64, f flaw) (verdict error) {
	synctest.Test(t, func(t *testing.T) {
		regions := []string{"eu-west-1", "us-east-1"}
		w := newFixture(t, dynamotest.Hostile(), seed, regions...)
		defer w.cloud.Close()
		w.trip = nasty(seed, f)
		var hosts []*host
		for i, r := range regions {
			h := w.host(r, seed*2+uint64(i))
			if h.aborts = 0.03; f.spoil != nil {
				h.spoil = f.spoil
			}
			hosts = append(hosts, h)
		}
		during(func() {
			var writers sync.WaitGroup
			for i, r := range regions {
				for k := range 3 {
					writers.Go(func() { w.write(t.Context(), r, rand.New(rand.NewPCG(seed, uint64(i*10+k)))) })
				}
			}
			writers.Wait()
			w.cloud.SetFaults()
			sleep(15 * time.Second)
		}, hosts...)
		for _, h := range hosts {
			if h.b != nil {
				h.end()
			}
			if verdict == nil {
				verdict = h.judge()
			}
			if verdict == nil && (len(h.changes()) < 300 || h.lives < 5) {
				verdict = fmt.Errorf("%s: %d changes and %d handlers are too few to tell", h.region, len(h.changes()), h.lives)
			}
		}
	})
	return verdict
}

// write changes resources of a region for 14 s. What fails may have been done or not: both are seen in the table.
func (w *fixture) write(ctx context.Context, region string, rng *rand.Rand) {
	for until := time.Now().Add(14 * time.Second); time.Now().Before(until); {
		name := fmt.Sprintf("%s-%d", region, rng.IntN(25))
		_ = w.resource(ctx, region, name, fmt.Sprintf("p%d", rng.IntN(3)))
		sleep(time.Duration(rng.IntN(120)) * time.Millisecond)
	}
}

// I-stream: through rollovers every two seconds, splits, throttling, lost answers, expired iterators, children that are listed
// late and handlers thrown away at random, every change of every item is there once, and in order.
func TestEveryChangeOnceAndInOrder(t *testing.T) {
	for seed := range uint64(3) {
		if err := runStreams(t, seed, flaw{}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// Each way of doing it wrong that we know of is noticed.
func TestTheJudgeNotices(t *testing.T) {
	shards := func(ch *stream.Changes, drop func(c *stream.Change) bool) {
		kept := ch.List[:0]
		for i := range ch.List {
			if c := &ch.List[i]; c.Op != stream.OpPut || c.Table != shardTable || !drop(c) {
				kept = append(kept, *c)
			}
		}
		ch.List = kept
	}
	replaced := func(op, was, is string, answers bool) func(*http.Request, http.RoundTripper) (*http.Response, error) {
		return func(r *http.Request, to http.RoundTripper) (*http.Response, error) {
			if operation(r) != op {
				return to.RoundTrip(r)
			}
			if !answers {
				body(r, func(s string) string { return strings.ReplaceAll(s, was, is) })
				return to.RoundTrip(r)
			}
			out, err := to.RoundTrip(r)
			if err != nil {
				return nil, err
			}
			text, err := io.ReadAll(out.Body)
			_ = out.Body.Close()
			if err != nil {
				return nil, err
			}
			return answer(r, out.StatusCode, strings.ReplaceAll(string(text), was, is)), nil
		}
	}
	var n atomic.Int64 // the hosts are several
	for name, f := range map[string]flaw{
		"a child is read before its parent": {trip: replaced("DescribeStream", `"ParentShardId"`, `"Nothing"`, true)},
		"a shard is begun at its newest":    {trip: replaced("GetShardIterator", "TRIM_HORIZON", "LATEST", false)},
		"a position is not kept":            {spoil: func(ch *stream.Changes) { shards(ch, func(*stream.Change) bool { return n.Add(1)%5 == 0 }) }},
		"a position is kept without records": {spoil: func(ch *stream.Changes) {
			if n.Add(1)%20 != 0 {
				return
			}
			kept := ch.List[:0]
			for _, c := range ch.List {
				if c.Op != stream.OpEmit {
					kept = append(kept, c)
				}
			}
			ch.List = kept
		}},
		"a shard that is finished is forgotten": {spoil: func(ch *stream.Changes) {
			shards(ch, func(c *stream.Change) bool { return strings.Contains(string(c.Value), "finished_ms") })
		}},
		"a position is that of the record before": {trip: replaced("GetShardIterator", "AFTER_SEQUENCE_NUMBER", "AT_SEQUENCE_NUMBER", false)},
	} {
		found := false
		for seed := uint64(0); seed < 3 && !found; seed++ {
			if err := runStreams(t, seed, f); err != nil {
				found = true
				t.Logf("%s: %.200v", name, err)
			}
		}
		if !found {
			t.Errorf("%s, and nobody notices", name)
		}
	}
}
