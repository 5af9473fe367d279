package integration

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/lease/table"
	"github.com/weirhq/weir/processors/kafka"
)

// Contents of the table.
const (
	leaseTable      = "weir-leases"
	leaseClient     = "client"
	leasePartitions = 4

	// The pools are in different partitions.
	widePool, plentyPool = "wide", "plenty" // with resources in all regions
	scarcePool           = "scarce"         // with resources in the first region only, leased in all

	leaseSkew       = 200 * time.Millisecond
	leaseQuarantine = time.Second
	longestLease    = 15 * time.Second

	wideStock   = 25 // resources of a pool in a region
	scarceStock = 30
)

// leaseCluster is the lease loop of a test: regions of DynamoDB over HTTP in this process, brokers
// in a container, and `weir run --roles leases` in other processes.
type leaseCluster struct {
	*cluster
	cloud   *dynamotest.Cloud
	admin   *admin.Admin
	table   table.Table
	kafka   kafka.Cluster
	regions []string
	faults  []dynamotest.Fault
	stock   map[string]string // pool by resource
	a, b    *instance
}

// newLeaseCluster creates the table, the topics and the resources. Afterwards the regions are
// hostile.
func newLeaseCluster(t *testing.T, regions ...string) *leaseCluster {
	t.Helper()
	profile := dynamotest.Hostile()
	w := &leaseCluster{
		cluster: empty(t), regions: regions, faults: profile.Faults, stock: map[string]string{},
	}
	w.kafka = kafka.Cluster{Brokers: w.addrs()}
	profile.Faults = nil
	var err error
	if w.cloud, err = dynamotest.New(dynamotest.Config{Regions: regions, Profile: profile}); err != nil {
		t.Fatal(err)
	}
	endpoints := w.serve()
	w.connect(endpoints)
	var endpointSettings []string
	for _, r := range regions {
		endpointSettings = append(endpointSettings, r+"="+endpoints[r])
	}
	settings := fmt.Sprintf(`leases: {regions: ["%s"], partitions: %d, skew: %s}`, strings.Join(endpointSettings, `", "`), leasePartitions, leaseSkew)
	w.a, w.b = newInstance(w.cluster, "a", settings), newInstance(w.cluster, "b", settings)
	w.a.roles, w.b.roles = "leases", "leases"
	w.fill()
	r := weir(t, "topics", "apply", "--for", "leases", "--replication-factor", "1", "--min-insync", "1", "-f", w.a.config)
	if r.code != 0 {
		t.Fatalf("weir topics apply: code %d\n%s", r.code, r.stderr)
	}
	if err := w.cloud.SetFaults(w.faults...); err != nil {
		t.Fatal(err)
	}
	return w
}

// serve serves the regions to the processes until the end of the test.
func (w *leaseCluster) serve() (endpoints map[string]string) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	endpoints = map[string]string{}
	var listeners []net.Listener
	for _, r := range w.regions {
		var lc net.ListenConfig
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			w.t.Fatal(err)
		}
		listeners = append(listeners, l)
		endpoints[r] = "http://" + l.Addr().String()
	}
	ended := make(chan error, 1)
	go func() { ended <- w.cloud.Serve(ctx, listeners...) }()
	w.t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, w.cloud.Close()); err != nil {
			w.t.Error(err)
		}
	})
	return endpoints
}

func (w *leaseCluster) connect(endpoints map[string]string) {
	w.t.Helper()
	connection, err := table.Connect(w.t.Context(), endpoints)
	if err != nil {
		w.t.Fatal(err)
	}
	w.table = table.Table{Name: leaseTable, New: connection.Client, Skew: leaseSkew, Timeout: 2 * time.Second, Attempts: 3}
	w.admin, err = admin.New(admin.Config{
		Table: leaseTable, Regions: w.regions, Client: connection.Client, Streams: connection.Streams, Skew: leaseSkew,
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

// agent returns an agent of a region. It reads the table often, so that it soon detects a lost
// lease.
func (w *leaseCluster) agent(region string) *agent.Agent {
	w.t.Helper()
	a, err := agent.New(agent.Config{
		Region: region, Table: leaseTable, Client: w.table.New, Skew: leaseSkew,
		CacheTTL: 200 * time.Millisecond, CandidateTTL: time.Second,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(a.Close)
	return a
}

// fill creates the table, its settings and the resources.
func (w *leaseCluster) fill() {
	w.t.Helper()
	ctx, errs := w.t.Context(), []error{w.admin.Apply(w.t.Context(), nil)}
	made := func(_ any, err error) { errs = append(errs, err) }
	for _, r := range w.regions {
		made(admin.Create(ctx, w.admin, admin.Region{Region: r, WriteLease: admin.Duration(time.Minute)}))
	}
	made(admin.Create(ctx, w.admin, admin.Client{Client: leaseClient}))
	for _, pool := range []string{widePool, plentyPool, scarcePool} {
		made(admin.Create(ctx, w.admin, admin.Pool{
			Client: leaseClient, Pool: pool, LongestLease: admin.Duration(longestLease), Quarantine: admin.Duration(leaseQuarantine), Buckets: 2,
		}))
	}
	for i, r := range w.regions {
		errs = append(errs, w.put(widePool, r, wideStock), w.put(plentyPool, r, wideStock))
		if i == 0 {
			errs = append(errs, w.put(scarcePool, r, scarceStock))
		}
	}
	errs = append(errs, w.cloud.Settle())
	for _, r := range w.regions {
		_, err := w.admin.RenewWriteLeases(ctx, r)
		errs = append(errs, err)
	}
	errs = append(errs, w.cloud.Settle())
	if err := errors.Join(errs...); err != nil {
		w.t.Fatal(err)
	}
}

// put adds n resources to a pool.
func (w *leaseCluster) put(pool, region string, n int) error {
	var lines strings.Builder
	for i := range n {
		name := fmt.Sprintf("%s-%s-%02d", pool, region, i)
		w.stock[name] = pool
		lines.WriteString(name + "\n")
	}
	_, err := w.admin.ImportResources(w.t.Context(), strings.NewReader(lines.String()), admin.ResourceImport{Client: leaseClient, Pool: pool, Region: region})
	return err
}

// clearGroups deletes the groups of the loop, with members of earlier tests.
func leaseApps() []string {
	return []string{events.BridgeApp, events.LiberatorApp, events.DedupApp, events.BalancerApp}
}

// cut makes a region unreachable and stops replication from and to it, or ends that.
func (w *leaseCluster) cut(region string, down bool) {
	w.t.Helper()
	faults := w.faults
	if down { // the first matching fault counts
		faults = append([]dynamotest.Fault{{Kind: dynamotest.Unreachable, Rate: 1, Region: region}}, faults...)
	}
	errs := []error{w.cloud.SetFaults(faults...)}
	for _, r := range w.regions {
		if r != region {
			errs = append(errs, w.cloud.Cut(r, region, down), w.cloud.Cut(region, r, down))
		}
	}
	if err := errors.Join(errs...); err != nil {
		w.t.Fatal(err)
	}
}
