package agent

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// linearRegion is a region name that the SDK knows. For others, finding the endpoint takes a fifth
// of the time of a request.
const linearRegion = "eu-west-1"

// linearRun configures a history: agents that get, renew and release leases of a few keys, and a
// process that frees ended leases, as the liberator does.
type linearRun struct {
	seed                           uint64
	agents, calls, keys, resources int
	shortest, longest              time.Duration // lease term
	pause                          time.Duration // maximum between two calls of an agent
	skew, quarantine               time.Duration
	broken                         func(*lease.Rules)
}

// linearDefaults fit virtual time: a lease ends after some calls of each agent.
func linearDefaults(seed uint64) linearRun {
	return linearRun{
		seed: seed, agents: 50, calls: 15, keys: 8, resources: 8,
		shortest: 100 * time.Millisecond, longest: 2000 * time.Millisecond, pause: 300 * time.Millisecond,
		skew: 20 * time.Millisecond, quarantine: 100 * time.Millisecond,
	}
}

func (r *linearRun) terms() linearTerms {
	return linearTerms{r.skew.Milliseconds(), r.quarantine.Milliseconds()}
}

// hostile makes a history on an emulator with all its faults. Call it inside synctest.Test.
func (r *linearRun) hostile(t testing.TB) []*linearCall {
	t.Helper()
	profile := dynamotest.Hostile()
	cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{linearRegion}, Profile: quiet(profile), Seed: r.seed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cloud.Close() })
	region := cloud.Region(linearRegion)
	// Answers take time. Otherwise the calls of all agents would be one after the other.
	way := dynamotest.Fault{Kind: dynamotest.Slow, Rate: 1, Delay: dynamotest.Span{Min: time.Millisecond, Max: 15 * time.Millisecond}}
	return r.history(t, linearTable{
		client:    func() *dynamodb.Client { return region.Client() },
		furnished: func() error { return cloud.SetFaults(append(profile.Faults, way)...) },
		calmed:    func() error { return cloud.SetFaults() },
	})
}

// linearTable is where the table is created, and what happens when its rows exist and before the
// final reads.
type linearTable struct {
	client            func() *dynamodb.Client
	furnished, calmed func() error
}

// linearLog is the history under construction.
type linearLog struct {
	clock atomic.Int64
	mu    sync.Mutex
	all   []*linearCall
}

// do makes a call and records it.
func (h *linearLog) do(c *linearCall, call func() (Lease, error)) {
	c.call, c.at = h.clock.Add(1), time.Now().UnixMilli()
	c.got, c.err = call()
	c.back, c.done = time.Now().UnixMilli(), h.clock.Add(1)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, c)
}

// history creates the table, lets all agents work on it, and ends with a read of each key by one
// more agent, without faults.
func (r *linearRun) history(t testing.TB, table linearTable) []*linearCall {
	t.Helper()
	db := table.client()
	r.furnish(t, db)
	if err := table.furnished(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var log linearLog
	var working, freeing sync.WaitGroup
	freeing.Go(func() { r.free(ctx, db) })
	for i := range r.agents {
		working.Go(func() { r.work(ctx, t, &log, i, table.client()) })
	}
	working.Wait()
	if err := table.calmed(); err != nil {
		t.Fatal(err)
	}
	last := r.agent(t, r.agents, db)
	for k := range r.keys {
		c := &linearCall{agent: r.agents, op: "get", key: fmt.Sprint("k", k), until: time.Now().Add(r.longest).UnixMilli()}
		log.do(c, func() (Lease, error) { return last.GetLease(ctx, "c", "p", c.key, time.UnixMilli(c.until)) })
	}
	last.Close()
	cancel()
	freeing.Wait()
	return log.all
}

// furnish creates the table with its client, pool and resources.
func (r *linearRun) furnish(t testing.TB, db *dynamodb.Client) {
	t.Helper()
	if _, err := db.CreateTable(t.Context(), table.Create(testTable)); err != nil {
		t.Fatal(err)
	}
	client := table.PrimaryKey(lease.ClientRow("c"))
	client[table.Version] = table.N(1)
	pool := table.Pool{Client: "c", Name: "p", Version: 1, LongestLease: time.Hour, Quarantine: r.quarantine, Buckets: 1}
	region := table.PrimaryKey(lease.RegionRow(linearRegion))
	region[table.Version] = table.N(1)
	items := []table.Item{region, client, pool.Item()}
	for i := range r.resources {
		item := table.PrimaryKey(lease.ResourceRow("c", fmt.Sprint("r", i)))
		item[table.Version], item[table.Owner] = table.N(1), table.S(linearRegion)
		item[table.AvailableMs], item[table.Bucket] = table.N(1), table.S(lease.Bucket("c", "p", linearRegion, 0))
		items = append(items, item)
	}
	for _, item := range items {
		if _, err := db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(testTable), Item: item}); err != nil {
			t.Fatal(err)
		}
	}
}

// agent returns an agent as a separate process would have it. It caches no leases, since a cached
// lease may be CacheTTL old by design; so each get reads the table. Every other agent sends a
// request only once, so that the outcome is often unknown.
func (r *linearRun) agent(t testing.TB, i int, db *dynamodb.Client) *Agent {
	t.Helper()
	attempts := 1
	if again(i) {
		attempts = 3
	}
	a, err := New(Config{
		Region: linearRegion, Table: testTable, Client: func(string) *dynamodb.Client { return db },
		Skew: r.skew, CacheTTL: 1, Attempts: attempts, CandidateTTL: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.broken != nil {
		r.broken(a.rules)
	}
	return a
}

// again reports whether an agent repeats a failed request.
func again(agent int) bool { return agent%2 == 1 }

// work makes the calls of one agent. It keeps the leases that it got last.
func (r *linearRun) work(ctx context.Context, t testing.TB, log *linearLog, i int, db *dynamodb.Client) {
	dice := rand.New(rand.NewPCG(r.seed, uint64(i)))
	a := r.agent(t, i, db)
	defer a.Close()
	inHand := map[string]Lease{}
	for range r.calls {
		k := i // mostly the same key, so that it has a lease to renew
		if dice.IntN(4) == 0 {
			k = dice.IntN(r.keys)
		}
		c := &linearCall{agent: i, op: "get", key: fmt.Sprint("k", k%r.keys)}
		// No two calls request the same end, so that the end of a lease identifies its call.
		length := r.shortest + time.Duration(dice.Int64N(int64(r.longest-r.shortest)))
		c.until = time.Now().Add(length).UnixMilli()
		had, ok := inHand[c.key]
		what := dice.IntN(100)
		switch c.had = had; {
		case !ok || what < 40:
			log.do(c, func() (Lease, error) { return a.GetLease(ctx, "c", "p", c.key, time.UnixMilli(c.until)) })
		case what < 75:
			c.op = "renew"
			log.do(c, func() (Lease, error) { return a.Renew(ctx, had, time.UnixMilli(c.until)) })
		default:
			c.op, c.until = "release", 0
			log.do(c, func() (Lease, error) { return Lease{}, a.Release(ctx, had) })
		}
		if c.err == nil && c.op != "release" {
			inHand[c.key] = c.got
		}
		if err := sleepUntil(ctx, time.Now().Add(time.Duration(dice.Int64N(int64(r.pause))))); err != nil {
			return
		}
	}
}

// free makes the resources of ended leases available again, until ctx ends.
func (r *linearRun) free(ctx context.Context, db *dynamodb.Client) {
	rules := lease.Protocol()
	if r.broken != nil {
		r.broken(rules)
	}
	for sleepUntil(ctx, time.Now().Add(r.quarantine)) == nil {
		out, err := db.Scan(ctx, &dynamodb.ScanInput{TableName: aws.String(testTable), ConsistentRead: aws.Bool(true)})
		if err != nil {
			continue // repeated in the next round
		}
		for _, item := range out.Items {
			row, err := table.Row(item)
			w := lease.Write{
				Rule: &rules.Liberate, Now: time.Now().UnixMilli(), Skew: r.skew.Milliseconds(),
				Args: lease.Row{Version: row.Version, Available: row.Expires + r.quarantine.Milliseconds()},
			}
			if err != nil || row.Holder == "" || !w.Holds(&row) {
				continue
			}
			name := table.Text(item, table.SK)
			with := table.Item{table.Bucket: table.S(lease.Bucket("c", "p", linearRegion, 0)), table.WriterRegion: table.S(linearRegion)}
			_, _ = db.UpdateItem(ctx, table.Update(testTable, lease.ResourceRow("c", name), &w, with)) // a failure is repeated in the next round
		}
	}
}
