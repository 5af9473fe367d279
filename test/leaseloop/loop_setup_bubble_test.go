//go:build synctests

package leaseloop_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

const (
	loopTable  = "leases"
	loopClient = "c"
	loopPool   = "p"
	loopSkew   = 500 * time.Millisecond
	quarantine = 10 * time.Second
)

func loopRegions() []string { return []string{"ap", "eu", "us"} }

// loopSetup configures a loop.
type loopSetup struct {
	profile   dynamotest.Profile
	seed      uint64
	stock     map[string]int // resources by region
	poll      time.Duration  // longest pause between polls of an idle stream; half of it is the shortest
	heartbeat time.Duration
	// partitions is the number of partitions of all topics except for the bridge's own.
	partitions int32
	brokers    int           // see processorstest.Options
	watch      time.Duration // see processorstest.Options
	// commit is the interval of commits and of the bridge's ticks. Defaults to 100 ms, as in weir
	// run.
	commit time.Duration
}

// loop is the whole lease loop in a bubble: regions of a cloud, brokers, nodes with all roles, and
// agents.
type loop struct {
	t     *testing.T
	setup loopSetup
	cloud *dynamotest.Cloud
	conn  *table.Connection
	admin *admin.Admin
	table *table.Table // reads rows
	apps  []*processorstest.Harness
	nodes map[string]*node
	kills int
}

// balancers returns the harness of the balancer.
func (l *loop) balancers() *processorstest.Harness { return l.apps[0] }

// inLoop runs f on a loop, and checks every application as package processorstest does.
func inLoop(t *testing.T, s loopSetup, f func(l *loop)) {
	t.Helper()
	regions := loopRegions()
	// Each core is a processor. Their commands and journals are in the same topics.
	options := func(p stream.Processor, err error) processorstest.Options {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return processorstest.Options{
			Processor: p, Partitions: p.Partitions, Brokers: s.brokers, Seed: s.seed, CheckInterval: s.watch,
			NoRefold: p.App == events.BridgeApp, Own: func(r *kgo.Record) bool { return p.App == "lease-"+writer(t, r) },
			Config: processors.Config{Workers: 1, Tick: cmp.Or(s.commit, bridge.Tick), CommitInterval: s.commit, BallastBytes: -1},
		}
	}
	processorstest.Run(t, options(balancer.ProcessorConfig{Regions: regions, Partitions: s.partitions}.Processor()), func(t *testing.T, w *processorstest.Harness) {
		l := &loop{t: t, setup: s, nodes: map[string]*node{}, apps: []*processorstest.Harness{w}}
		l.startCloud()
		t.Cleanup(func() { l.cloud.Close() }) // after the processes have ended
		l.apps = append(
			l.apps,
			w.AddProcessor(options(liberator.ProcessorConfig{Regions: regions, Partitions: s.partitions, Skew: loopSkew}.Processor())),
			w.AddProcessor(options(dedup.ProcessorConfig{Regions: regions, Partitions: s.partitions, Skew: loopSkew}.Processor())),
			w.AddProcessor(options(bridge.Config{
				Regions: regions, Table: loopTable, DB: l.conn.Client, Streams: l.conn.Streams, Partitions: s.partitions,
				PollMin: s.poll / 2, PollMax: s.poll, HeartbeatInterval: s.heartbeat, Metrics: bridge.NewMetrics(nil),
			}.Processor(), nil)),
		)
		for _, r := range regions {
			w.Unstick(events.LeaseExecutorGroup(r))
		}
		defer l.stop()
		f(l)
	})
}

// writer returns the author of a command or of an entry of the journal. Each other topic has the
// records of one application.
func writer(t *testing.T, r *kgo.Record) string {
	t.Helper()
	var m interface {
		proto.Message
		GetBy() string
	}
	switch {
	case r.Topic == events.LeaseJournalTopic:
		m = &eventspb.LeaseJournalEntry{}
	case strings.HasPrefix(r.Topic, events.LeaseCommandsTopic("")):
		m = &eventspb.LeaseCommand{}
	case r.Topic == events.LeaseHeadroomTopic:
		return "balancer"
	case r.Topic == events.LeaseDuplicatesTopic:
		return "dedup"
	default:
		t.Fatalf("topic %s: name its writer here", r.Topic)
	}
	if err := proto.Unmarshal(r.Value, m); err != nil {
		t.Fatal(err)
	}
	return m.GetBy()
}

// byPort sends each request to the region whose endpoint has the port.
type byPort map[string]http.RoundTripper

func (b byPort) RoundTrip(r *http.Request) (*http.Response, error) {
	return b[r.URL.Port()].RoundTrip(r)
}

// startCloud creates the cloud with the table, the settings and the resources. The faults of the
// profile begin afterwards.
func (l *loop) startCloud() {
	l.t.Helper()
	calm := l.setup.profile
	calm.Faults, calm.TableDelay = nil, 0
	var err error
	if l.cloud, err = dynamotest.New(dynamotest.Config{Regions: loopRegions(), Profile: calm, Seed: l.setup.seed}); err != nil {
		l.t.Fatal(err)
	}
	ports, endpoints := byPort{}, map[string]string{}
	for i, r := range loopRegions() {
		port := fmt.Sprint(8001 + i)
		ports[port], endpoints[r] = l.cloud.Region(r).HTTPClient().Transport, "http://127.0.0.1:"+port
	}
	ctx := l.t.Context()
	if l.conn, err = table.ConnectWith(ctx, &http.Client{Transport: ports}, endpoints); err != nil {
		l.t.Fatal(err)
	}
	l.table = &table.Table{Name: loopTable, New: l.conn.Client, Skew: loopSkew, Timeout: 5 * time.Second, Attempts: 5}
	l.admin, err = admin.New(admin.Config{Table: loopTable, Regions: loopRegions(), Client: l.conn.Client, Streams: l.conn.Streams, Skew: loopSkew})
	if err == nil {
		err = l.admin.Apply(ctx, nil)
	}
	for _, r := range loopRegions() {
		if err == nil {
			_, err = admin.Create(ctx, l.admin, admin.Region{Region: r})
		}
	}
	if err == nil {
		_, err = admin.Create(ctx, l.admin, admin.Client{Client: loopClient})
	}
	if err == nil {
		_, err = admin.Create(ctx, l.admin, admin.Pool{Client: loopClient, Pool: loopPool, Quarantine: admin.Duration(quarantine), Buckets: 4})
	}
	for _, r := range loopRegions() {
		var lines strings.Builder
		for i := range l.setup.stock[r] {
			fmt.Fprintf(&lines, "%s-%06d\n", r, i)
		}
		if err == nil {
			_, err = l.admin.ImportResources(ctx, strings.NewReader(lines.String()), admin.ResourceImport{Client: loopClient, Pool: loopPool, Region: r})
		}
	}
	if err == nil {
		err = l.cloud.Settle()
	}
	if err == nil {
		err = l.cloud.SetFaults(l.setup.profile.Faults...)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// agent returns an agent of a region. Close it.
func (l *loop) agent(region string, observe func(agent.Call)) *agent.Agent {
	a, err := agent.New(agent.Config{Region: region, Table: loopTable, Client: l.conn.Client, Skew: loopSkew, Observe: observe})
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

// stop stops the nodes gracefully.
func (l *loop) stop() {
	for _, n := range l.nodes {
		n.executors.end(false)
		for i, p := range n.parts {
			if !p.Ended() {
				n.parts[i].Stop()
			}
		}
	}
	clear(l.nodes)
}

// caughtUp waits until every application has read all records.
func (l *loop) caughtUp() {
	l.t.Helper()
	for _, w := range l.apps {
		w.CaughtUp()
	}
}

// stock returns the rows of all resources in a region.
func (l *loop) stock(region string) map[string]lease.Row {
	l.t.Helper()
	rows := map[string]lease.Row{}
	for n := range lease.ResourcePartitions {
		items, err := l.table.Query(l.t.Context(), region, lease.ResourcePartition(loopClient, n))
		if err != nil {
			l.t.Fatal(err)
		}
		for _, item := range items {
			row, err := table.Row(item)
			if err != nil {
				l.t.Fatal(err)
			}
			rows[table.Text(item, table.SK)] = row
		}
	}
	return rows
}

// inTransit returns the number of resources that the balancer counts as in transit.
func (l *loop) inTransit() (n int) {
	l.t.Helper()
	for p := range l.setup.partitions {
		n += len(l.balancers().State(p, balancer.TableTransfers))
	}
	return n
}

// readAll returns all committed records of a topic, in the order of each partition.
func readAll[T any, P interface {
	*T
	proto.Message
}](l *loop, topic string,
) (list []P) {
	l.t.Helper()
	for _, r := range l.balancers().Records(topic) {
		m := P(new(T))
		if len(r.Value) == 0 {
			continue // a tombstone
		}
		if err := proto.Unmarshal(r.Value, m); err != nil {
			l.t.Fatal(err)
		}
		list = append(list, m)
	}
	return list
}

// wait waits for d of virtual time. It returns false if ctx ends first.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// percentile returns the value below which a share of the list lies.
func percentile(list []time.Duration, share float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, int(share*float64(len(list))))]
}
