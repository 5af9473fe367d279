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

// mutation is a bug that a test injects: into the changes of transactions, or into requests to the
// streams.
type mutation struct {
	changes func(*stream.Changes)
	trip    func(*http.Request, http.RoundTripper) (*http.Response, error)
}

// streamFaults adds faults to those of dynamotest: iterators that expire, children that are listed
// late.
func streamFaults(seed uint64, m mutation) func(*http.Request, http.RoundTripper) (*http.Response, error) {
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
		if m.trip != nil {
			return m.trip(r, to)
		}
		return to.RoundTrip(r)
	}
}

// runStreams writes in two regions for a while. The handlers of their bridges are discarded at
// random. It returns what the check finds.
func runStreams(t *testing.T, seed uint64, m mutation) (wrong error) {
	synctest.Test(t, func(t *testing.T) {
		regions := []string{"eu-west-1", "us-east-1"}
		w := newFixture(t, dynamotest.Hostile(), seed, regions...)
		defer w.cloud.Close()
		w.trip = streamFaults(seed, m)
		var hosts []*host
		for i, r := range regions {
			h := w.host(r, seed*2+uint64(i))
			if h.aborts = 0.03; m.changes != nil {
				h.mutate = m.changes
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
			if h.bridge != nil {
				h.end()
			}
			if wrong == nil {
				wrong = h.check()
			}
			if wrong == nil && (len(h.changes()) < 300 || h.opened < 5) {
				wrong = fmt.Errorf("%s: %d changes and %d handlers are too few for a check", h.region, len(h.changes()), h.opened)
			}
		}
	})
	return wrong
}

// write changes resources of a region for 14 s. A write that fails may have been made or not; the
// table shows it.
func (w *fixture) write(ctx context.Context, region string, rng *rand.Rand) {
	for until := time.Now().Add(14 * time.Second); time.Now().Before(until); {
		name := fmt.Sprintf("%s-%d", region, rng.IntN(25))
		_ = w.resource(ctx, region, name, fmt.Sprintf("p%d", rng.IntN(3)))
		sleep(time.Duration(rng.IntN(120)) * time.Millisecond)
	}
}

// TestEveryChangeOnceAndInOrder holds that each change of each item is emitted once and in order,
// through rollovers every two seconds, splits, throttling, lost responses, expired iterators,
// children that are listed late, and handlers that are discarded at random.
func TestEveryChangeOnceAndInOrder(t *testing.T) {
	for seed := range uint64(3) {
		if err := runStreams(t, seed, mutation{}); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// TestCheckFindsMutations is the mutation test of TestEveryChangeOnceAndInOrder.
func TestCheckFindsMutations(t *testing.T) {
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
	var n atomic.Int64 // shared by the hosts
	for name, m := range map[string]mutation{
		"a child is read before its parent": {trip: replaced("DescribeStream", `"ParentShardId"`, `"Nothing"`, true)},
		"a shard is begun at its newest":    {trip: replaced("GetShardIterator", "TRIM_HORIZON", "LATEST", false)},
		"a position is not kept":            {changes: func(ch *stream.Changes) { shards(ch, func(*stream.Change) bool { return n.Add(1)%5 == 0 }) }},
		"a position is kept without records": {changes: func(ch *stream.Changes) {
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
		"a shard that is finished is forgotten": {changes: func(ch *stream.Changes) {
			shards(ch, func(c *stream.Change) bool { return strings.Contains(string(c.Value), "finished_ms") })
		}},
		"a position is that of the record before": {trip: replaced("GetShardIterator", "AFTER_SEQUENCE_NUMBER", "AT_SEQUENCE_NUMBER", false)},
	} {
		found := false
		for seed := uint64(0); seed < 3 && !found; seed++ {
			if err := runStreams(t, seed, m); err != nil {
				found = true
				t.Logf("%s: %.200v", name, err)
			}
		}
		if !found {
			t.Errorf("%s: the check does not find it", name)
		}
	}
}
