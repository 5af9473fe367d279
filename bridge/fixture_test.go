package bridge

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/stream"
)

const testTable = "leases"

// fixture is a cloud with the lease table in some regions. A host runs the bridge of a region.
type fixture struct {
	t     testing.TB
	cloud *dynamotest.Cloud
	cfg   Config
	trip  func(*http.Request, http.RoundTripper) (*http.Response, error) // sends requests to streams
}

func newFixture(t testing.TB, profile dynamotest.Profile, seed uint64, regions ...string) *fixture {
	t.Helper()
	calm := profile
	calm.Faults, calm.TableDelay = nil, 0
	cloud, err := dynamotest.New(dynamotest.Config{Regions: regions, Profile: calm, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	w := &fixture{t: t, cloud: cloud}
	w.trip = func(r *http.Request, to http.RoundTripper) (*http.Response, error) { return to.RoundTrip(r) }
	db := cloud.Region(regions[0]).Client()
	if _, err = db.CreateTable(t.Context(), table.Create(testTable)); err != nil {
		t.Fatal(err)
	}
	for _, region := range regions[1:] {
		if _, err = db.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: aws.String(testTable), ReplicaUpdates: []types.ReplicationGroupUpdate{
			{Create: &types.CreateReplicationGroupMemberAction{RegionName: aws.String(region)}},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	w.cfg = Config{
		Regions: regions, Table: testTable, Partitions: 4, ListInterval: 5 * time.Second, PollMin: 50 * time.Millisecond, PollMax: 300 * time.Millisecond,
		DB: func(r string) *dynamodb.Client { return cloud.Region(r).Client() },
		Streams: func(r string) *dynamodbstreams.Client {
			base := cloud.Region(r).HTTPClient().Transport
			return cloud.Region(r).StreamsClient(func(o *dynamodbstreams.Options) {
				o.HTTPClient = &http.Client{Transport: tripper(func(req *http.Request) (*http.Response, error) { return w.trip(req, base) })}
			})
		},
	}
	if err := cloud.SetFaults(profile.Faults...); err != nil {
		t.Fatal(err)
	}
	return w
}

type tripper func(*http.Request) (*http.Response, error)

func (f tripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func operation(r *http.Request) string {
	_, op, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	return op
}

// body replaces the body of a request.
func body(r *http.Request, change func(string) string) {
	text, _ := io.ReadAll(r.Body)
	_ = r.Body.Close()
	text = []byte(change(string(text)))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
}

// answer is a response of DynamoDB.
func answer(r *http.Request, status int, text string) *http.Response {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)),
	}
}

// update increases the version of an item by one and sets attributes. After an error the write may
// have been made.
func (w *fixture) update(ctx context.Context, region string, p lease.PrimaryKey, set map[string]types.AttributeValue) error {
	set = maps.Clone(set)
	set[table.WriterRegion] = table.S(region)
	expr, names, values := "SET #v = if_not_exists(#v, :zero) + :one", map[string]string{"#v": table.Version}, table.Item{":zero": table.N(0), ":one": table.N(1)}
	i := 0
	for name, v := range set {
		i++
		expr += fmt.Sprintf(", #a%d = :a%d", i, i)
		names[fmt.Sprintf("#a%d", i)], values[fmt.Sprintf(":a%d", i)] = name, v
	}
	_, err := w.cloud.Region(region).Client().UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(testTable), Key: table.PrimaryKey(p), UpdateExpression: &expr, ExpressionAttributeNames: names, ExpressionAttributeValues: values,
	}, noRetryDB)
	return err
}

// sleep waits in virtual time. Only tests in a bubble call it.
func sleep(d time.Duration) { <-time.After(d) }

func (w *fixture) resource(ctx context.Context, region, name, pool string) error {
	return w.update(ctx, region, lease.ResourceRow("c", name), map[string]types.AttributeValue{table.PoolID: table.S(pool), table.Owner: table.S(region)})
}

// versions returns the versions of all rows whose last writer is region, as region has them.
func (w *fixture) versions(region string) map[string]int64 {
	w.t.Helper()
	out := map[string]int64{}
	p := dynamodb.NewScanPaginator(w.cloud.Region(region).Client(), &dynamodb.ScanInput{TableName: aws.String(testTable), ConsistentRead: aws.Bool(true)})
	for p.HasMorePages() {
		page, err := p.NextPage(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		for _, item := range page.Items {
			if table.Text(item, table.WriterRegion) == region {
				if v, err := table.Number(item, table.Version); err == nil {
					out[table.Text(item, table.SK)] = v
				}
			}
		}
	}
	return out
}

// host is the runtime of one bridge: it keeps the state and outputs of committed transactions, and
// discards those of aborted ones.
type host struct {
	w       *fixture
	region  string
	p       int32
	mu      sync.Mutex        // held during a turn; guards the fields below
	bridge  handler           // nil between handlers
	state   map[string][]byte // by table number and key
	log     []written         // committed outputs, in order
	rng     *rand.Rand
	aborts  float64               // share of transactions
	mutate  func(*stream.Changes) // injects a bug
	control []stream.Record       // for the next turn
	opened  int                   // handlers
}

// handler is what Processor.New makes for a region.
type handler interface {
	stream.Handler
	stream.Closer
}

type written struct {
	topic     string
	partition int32
	value     []byte
}

func (w *fixture) host(region string, seed uint64) *host {
	return &host{
		w: w, region: region, p: int32(slices.Index(w.cfg.Regions, region)), state: map[string][]byte{}, rng: rand.New(rand.NewPCG(seed, 5)),
		mutate: func(*stream.Changes) {},
	}
}

// open makes a handler from the committed state.
func (h *host) open() {
	h.w.t.Helper()
	task := stream.Task{
		Partition: h.p,
		Get:       func(table byte, key []byte) ([]byte, error) { return h.state[string(table)+string(key)], nil },
		Range: func(table byte, from, to []byte, fn func(k, v []byte) error) error {
			for _, k := range slices.Sorted(maps.Keys(h.state)) {
				if k[0] == table && k[1:] >= string(from) && (to == nil || k[1:] < string(to)) {
					if err := fn([]byte(k[1:]), h.state[k]); err != nil {
						return err
					}
				}
			}
			return nil
		},
	}
	b, err := h.w.cfg.Processor().New(task)
	if err != nil {
		h.w.t.Fatal(err)
	}
	h.bridge = b.(handler)
	h.opened++
}

func (h *host) end() {
	h.bridge.Close()
	h.bridge = nil
}

// turn runs one transaction, and commits or aborts it.
func (h *host) turn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bridge == nil {
		h.open()
	}
	batch := &stream.Batch{Records: h.control}
	err := h.bridge.Fold(batch)
	ch := &stream.Changes{}
	if err = errors.Join(err, h.bridge.Flush(stream.Commit{NowMs: time.Now().UnixMilli()}, ch), ch.Err()); err != nil {
		h.w.t.Error(err)
	}
	h.mutate(ch)
	if h.rng.Float64() < h.aborts {
		h.end()
		return
	}
	h.control = nil
	for _, c := range ch.List {
		switch c.Op {
		case stream.OpPut:
			h.state[string(c.Table)+string(c.Key)] = bytes.Clone(c.Value)
		case stream.OpDelete:
			delete(h.state, string(c.Table)+string(c.Key))
		case stream.OpEmit:
			h.log = append(h.log, written{c.Output(), c.To.Partition, bytes.Clone(c.Value)})
		default:
			h.w.t.Errorf("change with operation %d", c.Op)
		}
	}
}

// between calls f between two turns.
func (h *host) between(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// run runs a turn every 100 ms until stop is closed.
func (h *host) run(stop <-chan struct{}) {
	for {
		h.turn()
		select {
		case <-stop:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// during runs the hosts while f runs.
func during(f func(), hosts ...*host) {
	stop := make(chan struct{})
	var all sync.WaitGroup
	for _, h := range hosts {
		all.Go(func() { h.run(stop) })
	}
	f()
	close(stop)
	all.Wait()
}

// changes returns the committed records of lease.changes.
func (h *host) changes() (list []*eventspb.LeaseChange) {
	h.w.t.Helper()
	for _, o := range h.log {
		if o.topic != events.LeaseChangesTopic {
			continue
		}
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(o.value, c); err != nil {
			h.w.t.Fatal(err)
		}
		list = append(list, c)
	}
	return list
}

// notes returns the committed journal entries of a kind.
func (h *host) notes(kind string) (list []*eventspb.LeaseJournalEntry) {
	for _, o := range h.log {
		if o.topic == events.LeaseJournalTopic {
			n := &eventspb.LeaseJournalEntry{}
			if err := proto.Unmarshal(o.value, n); err != nil {
				h.w.t.Fatal(err)
			}
			if n.Kind == kind {
				list = append(list, n)
			}
		}
	}
	return list
}

// check compares the changes that the bridge emitted with the table: each version of each resource
// must have come once, and in order.
func (h *host) check() error { return h.w.check(h.region, h.changes()) }

func (w *fixture) check(region string, changes []*eventspb.LeaseChange) error {
	w.t.Helper()
	return checkChanges(region, changes, w.versions(region))
}

func checkChanges(region string, changes []*eventspb.LeaseChange, versions map[string]int64) error {
	var errs []error
	last := map[string]int64{}
	for _, c := range changes {
		r := c.GetResource()
		if r == nil || c.Scanned || c.Gone || c.Region != region {
			continue
		}
		if want := last[r.Resource] + 1; r.Version != want {
			errs = append(errs, fmt.Errorf("%s: %s came with version %d, version %d was expected", region, r.Resource, r.Version, want))
		}
		last[r.Resource] = r.Version
	}
	for name, v := range versions {
		if last[name] != v {
			errs = append(errs, fmt.Errorf("%s: %s is at version %d, the last change that came is %d", region, name, v, last[name]))
		}
	}
	return errors.Join(errs[:min(len(errs), 5)]...)
}
