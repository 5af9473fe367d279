package executor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/ratelimit"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/stream"
)

const testTable = "leases"

// fixture is a cloud with the lease table in the regions eu and us, one pool, and the results of
// executors.
type fixture struct {
	t     testing.TB
	cloud *dynamotest.Cloud
	plain *table.Table

	mu      sync.Mutex
	results []*eventspb.LeaseResult
}

func newFixture(t testing.TB, profile dynamotest.Profile) *fixture {
	t.Helper()
	faults := profile.Faults
	profile.Faults, profile.TableDelay = nil, 0
	cloud, err := dynamotest.New(dynamotest.Config{Regions: []string{"eu", "us"}, Profile: profile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cloud.Close() })
	w := &fixture{t: t, cloud: cloud}
	w.plain = w.table()
	db := cloud.Region("eu").Client()
	if _, err = db.CreateTable(context.Background(), table.Create(testTable)); err != nil {
		t.Fatal(err)
	}
	if _, err = db.UpdateTable(context.Background(), &dynamodb.UpdateTableInput{TableName: aws.String(testTable), ReplicaUpdates: []types.ReplicationGroupUpdate{
		{Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String("us")}},
	}}); err != nil {
		t.Fatal(err)
	}
	client := table.PrimaryKey(lease.ClientRow("c"))
	client[table.Version] = table.N(1)
	w.put(client)
	for _, region := range []string{"eu", "us"} {
		row := table.PrimaryKey(lease.RegionRow(region))
		row[table.Version] = table.N(1)
		w.put(row)
	}
	pool := table.Pool{Client: "c", Name: "p", Version: 1, LongestLease: time.Hour, Quarantine: time.Second, Buckets: 4}
	w.put(pool.Item())
	w.settle(faults...)
	return w
}

func (w *fixture) settle(faults ...dynamotest.Fault) {
	if err := w.cloud.Settle(); err != nil {
		w.t.Fatal(err)
	}
	if err := w.cloud.SetFaults(faults...); err != nil {
		w.t.Fatal(err)
	}
}

func (w *fixture) put(item table.Item) {
	w.t.Helper()
	if _, err := w.cloud.Region("eu").Client().PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String(testTable), Item: item}); err != nil {
		w.t.Fatal(err)
	}
}

// set writes the row of a resource or key. A zero row deletes it.
func (w *fixture) set(p lease.PrimaryKey, r lease.Row) {
	w.t.Helper()
	if r == (lease.Row{}) {
		if _, err := w.cloud.Region("eu").Client().DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: aws.String(testTable), Key: table.PrimaryKey(p)}); err != nil {
			w.t.Fatal(err)
		}
		return
	}
	item := table.PrimaryKey(p)
	item[table.Version] = table.N(r.Version)
	for name, s := range map[string]string{table.Owner: r.Owner, table.Holder: r.Holder, table.State: string(r.State), table.Resource: r.Resource, table.Winner: r.Winner} {
		if s != "" {
			item[name] = table.S(s)
		}
	}
	for name, n := range map[string]int64{table.ExpiresMs: r.Expires, table.AvailableMs: r.Available, table.ResourceVersion: r.ResourceVersion} {
		if n != 0 {
			item[name] = table.N(n)
		}
	}
	if r.Available > 0 {
		item[table.Bucket] = table.S(lease.Bucket("c", "p", r.Owner, 0))
	}
	item[table.PoolID] = table.S("p")
	w.put(item)
}

// item returns a row of eu, through all faults.
func (w *fixture) item(p lease.PrimaryKey) table.Item {
	w.t.Helper()
	for {
		item, err := w.plain.Get(context.Background(), "eu", p)
		if err == nil {
			return item
		}
	}
}

func (w *fixture) row(p lease.PrimaryKey) lease.Row {
	w.t.Helper()
	row, err := table.Row(w.item(p))
	if err != nil {
		w.t.Fatal(err)
	}
	return row
}

func (w *fixture) table() *table.Table {
	return &table.Table{
		Name: testTable, Skew: 500 * time.Millisecond, Timeout: time.Second, Attempts: 1,
		New: func(region string) *dynamodb.Client { return w.cloud.Region(region).Client() },
	}
}

// executor makes the executor of eu. Its results are in w.results.
func (w *fixture) executor(change ...func(*Config)) *Executor {
	w.t.Helper()
	cfg := Config{Region: "eu", Regions: []string{"eu", "us"}, Table: w.table(), Kafka: noKafka(), PublishResult: w.result}
	for _, c := range change {
		c(&cfg)
	}
	e, err := New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	e.limiter, e.retryPause = ratelimit.New(1_000_000, 1_000_000, 0), 0
	return e
}

func (w *fixture) result(_ context.Context, partition int32, key, value []byte) error {
	r := &eventspb.LeaseResult{}
	if err := proto.Unmarshal(value, r); err != nil {
		return err
	}
	if want := r.Client + "\x00" + r.Pool; string(key) != want || r.Client != "" && partition != events.LeaseShard(r.Client, r.Pool, events.DefaultLeasePartitions) {
		w.t.Errorf("key %q, partition %d of %v, want key %q", key, partition, r, want)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results = append(w.results, r)
	return nil
}

// do carries out a command with as many attempts as it takes, and returns the result.
func (w *fixture) do(e *Executor, c *eventspb.LeaseCommand) *eventspb.LeaseResult {
	w.t.Helper()
	value, err := proto.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	for range 100 {
		if err = e.Do(context.Background(), &stream.SinkRecord{Value: value}); err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			return w.results[len(w.results)-1]
		}
	}
	w.t.Fatalf("a command is not carried out after 100 attempts: %v", err)
	return nil
}

// hostile is a profile in which a fifth of all requests fail, in several ways.
func hostile() dynamotest.Profile {
	p := dynamotest.Hostile()
	p.Faults = []dynamotest.Fault{
		{Kind: dynamotest.Throttle, Rate: 0.03}, {Kind: dynamotest.ServerError, Rate: 0.1}, {Kind: dynamotest.LostAnswer, Rate: 0.1},
	}
	return p
}

// commander makes valid and invalid commands for eight resources and four keys.
type commander struct {
	rng *rand.Rand
	n   int
}

func (m *commander) resource() string { return fmt.Sprintf("r%d", m.rng.IntN(8)) }

// command makes a command at the version of its row, or sometimes at another version.
func (m *commander) command(row func(lease.PrimaryKey) lease.Row) *eventspb.LeaseCommand {
	m.n++
	now := time.Now().UnixMilli()
	c := &eventspb.LeaseCommand{Id: fmt.Sprint("id", m.n), Client: "c", Pool: "p", Region: "eu", By: "liberator", DecidedMs: now}
	if m.rng.IntN(15) == 0 {
		c.NotAfterMs = now - 1000
	}
	r := m.resource()
	at := row(lease.ResourceRow("c", r))
	version := max(1, at.Version+int64(m.rng.IntN(8)/6))
	switch m.rng.IntN(8) {
	case 0, 1:
		ends := max(1, at.Expires)
		c.Command = &eventspb.LeaseCommand_Liberate{Liberate: &eventspb.LeaseLiberate{Resource: r, Version: version, ExpiresMs: ends, AvailableMs: ends + 1000, Buckets: 4}}
	case 2, 3:
		c.Command = &eventspb.LeaseCommand_Transfer{Transfer: &eventspb.LeaseTransfer{Resource: r, Version: version, To: "us", Buckets: 4}}
	case 4:
		c.Command = &eventspb.LeaseCommand_Revoke{Revoke: &eventspb.LeaseRevoke{Resource: r, Version: version, AvailableMs: now + 5000, Buckets: 4, Holder: lease.Holder("p", "k0")}}
	case 5, 6:
		k := fmt.Sprintf("k%d", m.rng.IntN(4))
		row := row(lease.PrimaryKey{Partition: lease.KeyPartition("c", "p", k), Sort: "eu"})
		c.Command = &eventspb.LeaseCommand_Supersede{Supersede: &eventspb.LeaseSupersede{Key: k, Version: max(1, row.Version), Resource: "r1", Winner: "us"}}
	default:
		h := &eventspb.LeaseHeadroom{Client: "c", Pool: "p", Region: "eu", AsOfMs: 1 + int64(m.rng.IntN(50)), Free: int64(m.rng.IntN(100)), Rate: m.rng.Float64()}
		c.Command = &eventspb.LeaseCommand_Headroom{Headroom: h}
	}
	switch m.rng.IntN(40) {
	case 0:
		c.Region = "us"
	case 1:
		c.Client = ""
	case 2:
		if c.GetTransfer() != nil {
			c.GetTransfer().Version = 0
		}
	case 3:
		c.Command = nil
	}
	return c
}

func record(t testing.TB, c *eventspb.LeaseCommand) *stream.SinkRecord {
	t.Helper()
	value, err := proto.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return &stream.SinkRecord{Value: value}
}
