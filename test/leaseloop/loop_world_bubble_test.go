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

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease"
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

// loopSetup says in what world a loop runs.
type loopSetup struct {
	profile   dynamotest.Profile
	seed      uint64
	stock     map[string]int // resources by region
	poll      time.Duration  // of a stream with nothing new, at most; half of it at least
	heartbeat time.Duration
	// partitions are those of all topics but the bridge's own.
	partitions int32
	brokers    int           // see processorstest.Options
	watch      time.Duration // see processorstest.Options
	// commit is the time between commits, and between looks at what streams gave. Defaults to what weir run has: 100 ms.
	commit time.Duration
}

// loop is the whole lease loop in a bubble: regions of a cloud, brokers, nodes with all roles, agents.
type loop struct {
	t     *testing.T
	setup loopSetup
	cloud *dynamotest.Cloud
	conn  *table.Connection
	admin *admin.Admin
	table *table.Table // to look at rows
	apps  []*processorstest.Harness
	nodes map[string]*node
	kills int
}

// balancers is the world of that application.
func (l *loop) balancers() *processorstest.Harness { return l.apps[0] }

// inLoop runs f beside the loop's nodes, and judges every application as package processorstest does.
func inLoop(t *testing.T, s loopSetup, f func(l *loop)) {
	t.Helper()
	regions := loopRegions()
	// Each core is a processor of its own; that a state is what its inputs make it is for the cores' own tests.
	options := func(p stream.Processor, err error) processorstest.Options {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return processorstest.Options{
			Processor: p, Partitions: p.Partitions, Brokers: s.brokers, Seed: s.seed, NoRefold: true, CheckInterval: s.watch,
			Config: processors.Config{Workers: 1, Tick: cmp.Or(s.commit, bridge.Tick), CommitInterval: s.commit, BallastBytes: -1},
		}
	}
	processorstest.Run(t, options(balancer.ProcessorConfig{Regions: regions, Partitions: s.partitions}.Processor()), func(t *testing.T, w *processorstest.Harness) {
		l := &loop{t: t, setup: s, nodes: map[string]*node{}, apps: []*processorstest.Harness{w}}
		l.startCloud()
		t.Cleanup(func() { l.cloud.Close() }) // once the processes have ended
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

// byPort sends requests to the region whose endpoint has that port.
type byPort map[string]http.RoundTripper

func (b byPort) RoundTrip(r *http.Request) (*http.Response, error) {
	return b[r.URL.Port()].RoundTrip(r)
}

// startCloud makes the cloud, with the table, the settings and the stock. Nothing fails until all is there.
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

// agent makes an agent of a region. Close it.
func (l *loop) agent(region string, observe func(agent.Call)) *agent.Agent {
	a, err := agent.New(agent.Config{Region: region, Table: loopTable, Client: l.conn.Client, Skew: loopSkew, Observe: observe})
	if err != nil {
		l.t.Fatal(err)
	}
	return a
}

// stop ends the nodes in order.
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

// caughtUp waits until every application has read all there is.
func (l *loop) caughtUp() {
	l.t.Helper()
	for _, w := range l.apps {
		w.CaughtUp()
	}
}

// stock is every resource's row as a region has it.
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

// inFlight is how many resources the balancer believes to be on their way.
func (l *loop) inFlight() (n int) {
	l.t.Helper()
	for p := range l.setup.partitions {
		n += len(l.balancers().State(p, balancer.TableTransfers))
	}
	return n
}

// readAll reads all committed records of a topic, in the order of each partition.
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

// wait lets virtual time pass, unless ctx ends before.
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

// percentile is the value below which a share of the list is.
func percentile(list []time.Duration, share float64) time.Duration {
	if len(list) == 0 {
		return 0
	}
	list = slices.Sorted(slices.Values(list))
	return list[min(len(list)-1, int(share*float64(len(list))))]
}
