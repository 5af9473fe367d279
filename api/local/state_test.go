package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/internal/testlimit"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/devbroker"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/spendcounter"
)

// peer is one of the processes that share the partitions. All of them run in the test's process.
type peer struct {
	name   string
	tasks  api.TaskSource
	client *api.Client
	mute   func() // stops its API and nothing else
	stop   func()
	parked func() float64 // requests that wait for a commit
}

func startBroker(t testing.TB) kafka.Cluster {
	t.Helper()
	b, err := devbroker.Start(devbroker.Config{Topics: spendcounter.ProcessorConfig{DC: "local"}.Topics()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b.Kafka()
}

// startPeer runs the spend counter as cmd/weir does.
func startPeer(t testing.TB, k kafka.Cluster, name string) *peer {
	t.Helper()
	proc, err := spendcounter.ProcessorConfig{DC: "local"}.Processor()
	if err != nil {
		t.Fatal(err)
	}
	rt, err := processors.New(processors.Config{
		Kafka: k, Dir: t.TempDir(), Instance: name, Workers: 1, Standbys: 1, CommitInterval: 50 * time.Millisecond, SessionTimeout: 6 * time.Second,
	}, proc)
	if err != nil {
		t.Fatal(err)
	}
	app := NewApp(AppConfig{Runtime: rt, Kafka: k, Check: CheckSpend})
	router := app.State
	registry := obs.NewRegistry("test")
	ends := func(ctx context.Context) (map[string]map[int32]int64, error) {
		return kafka.EndOffsets(ctx, k, proc.Inputs...)
	}
	server, err := api.New(api.Config{
		Listen: "127.0.0.1:0", OpsListen: "127.0.0.1:0", Cluster: &ClusterInfo{Kafka: k, DC: "local", Layout: &events.Layout{}}, Apps: []api.App{app}, SpendApp: proc.App, Registry: registry,
		Spend: &api.SpendReader{State: router, DC: "local", Shards: proc.Partitions, Ends: ends},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	rt.Advertise(server.Addr())
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 2)
	go func() { ended <- rt.Run(ctx) }()
	serving, mute := context.WithCancel(ctx)
	go func() { ended <- server.Run(serving) }()
	p := &peer{name: name, tasks: app.Tasks, client: api.NewClient(server.Addr()), mute: mute}
	p.parked = func() float64 {
		families, err := registry.Gather()
		if err != nil {
			t.Error(err)
		}
		for _, f := range families {
			if f.GetName() == "weir_api_parked_requests" {
				return f.GetMetric()[0].GetGauge().GetValue()
			}
		}
		return -1
	}
	stopped := false
	p.stop = func() {
		if stopped {
			return
		}
		stopped = true
		mute()
		cancel()
		if err := errors.Join(<-ended, <-ended); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		router.Close()
		p.client.Close()
	}
	t.Cleanup(p.stop)
	return p
}

// running waits until each peer runs the given number of partitions.
func running(t testing.TB, want map[*peer]int) {
	t.Helper()
	testlimit.Within(t, "the partitions are shared", func(ctx context.Context) error {
		for p, n := range want {
			parts, err := p.tasks.Tasks(ctx)
			if err != nil {
				return err
			}
			owned := 0
			for _, s := range parts {
				if s.GetState() != api.StateStandby {
					owned++
				}
			}
			if owned != n {
				return fmt.Errorf("%s has %d partitions, want %d", p.name, owned, n)
			}
			for _, s := range parts {
				if s.GetState() != processors.StateRunning && s.GetState() != api.StateStandby {
					return fmt.Errorf("%s: partition %d is %s %s", p.name, s.GetPartition(), s.GetState(), s.GetReason())
				}
			}
		}
		return nil
	})
}

// produce produces n impressions. Number i costs i+1 micros.
func produce(t testing.TB, k kafka.Cluster, n int, ids func(i int) (account, campaign string)) {
	t.Helper()
	sink, err := kafka.NewProducer(k, events.EventsTopic)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	now := time.Now().UnixMilli()
	for i := range n {
		account, campaign := ids(i)
		e := &eventspb.AdEvent{
			EventId: fmt.Sprint(campaign, i), Account: account, Campaign: campaign, Currency: "USD", Type: eventspb.EventType_EVENT_TYPE_IMPRESSION,
			PriceMicros: int64(i + 1), EventMs: now, IngestMs: now, ServingDc: "local",
		}
		if err := sink.Produce(t.Context(), events.Shard(account, events.DefaultShards), []byte(account), events.AppendEvent(nil, e)); err != nil {
			t.Fatal(err)
		}
	}
	if err := sink.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// charge produces n impressions for each of 60 campaigns of 60 accounts.
func charge(t *testing.T, k kafka.Cluster, round string, n int) {
	t.Helper()
	sink, err := kafka.NewProducer(k, events.EventsTopic)
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	now := time.Now().UnixMilli()
	for c := range 60 {
		account := fmt.Sprint("account-", c)
		for i := range n {
			e := &eventspb.AdEvent{
				EventId: fmt.Sprint(round, c, "-", i), Account: account, Campaign: fmt.Sprint("c", c), Currency: "USD",
				Type: eventspb.EventType_EVENT_TYPE_IMPRESSION, PriceMicros: int64(c + 1), EventMs: now, IngestMs: now, ServingDc: "local",
			}
			if err := sink.Produce(t.Context(), events.Shard(account, events.DefaultShards), []byte(account), events.AppendEvent(nil, e)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := sink.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// scan reads all pages of a table.
func (p *peer) scan(ctx context.Context, table string, limit int32) (all []*weirpb.StateEntry, pages int, err error) {
	for req := (&weirpb.ScanStateRequest{Table: table, Limit: limit}); ; pages++ {
		res, err := p.client.ScanState(ctx, req)
		if err != nil {
			return nil, 0, err
		}
		all = append(all, res.Entries...)
		if req.PageToken = res.NextPageToken; req.PageToken == "" {
			return all, pages + 1, nil
		}
	}
}

// TestTwoProcesses asks each of two processes for the other's partitions, moves partitions between
// them, and stops one.
func TestTwoProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a broker and two processes")
	}
	k := startBroker(t)
	a := startPeer(t, k, "a")
	running(t, map[*peer]int{a: 24})
	b := startPeer(t, k, "b")
	running(t, map[*peer]int{a: 12, b: 12})
	charge(t, k, "first", 10)

	// Both processes answer. Without an account, every partition could have the campaign.
	served := map[string]int{}
	for c := range 60 {
		var first *weirpb.GetSpendResponse
		for _, p := range []*peer{a, b} {
			res, err := p.client.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: fmt.Sprint("c", c), Wait: true})
			if err != nil {
				t.Fatal(err)
			}
			by := res.AsOf.ServedBy
			if res.ChargedMicros != int64(10*(c+1)) || by.Role != "owner" || by.StalenessMs != 0 {
				t.Errorf("%s returned for c%d: %v", p.name, c, res)
			}
			if served[by.Instance]++; first == nil {
				first = res
			}
			res.AsOf.EventMs, res.AsOf.NextOffsets, res.AsOf.AppliedMs, res.AsOf.ChangelogNext = first.AsOf.EventMs, first.AsOf.NextOffsets, first.AsOf.AppliedMs, first.AsOf.ChangelogNext
			if d := cmp.Diff(first, res, protocmp.Transform()); d != "" {
				t.Errorf("a and b differ: %s", d)
			}
		}
	}
	if served["a"] == 0 || served["b"] == 0 || served["a"]+served["b"] != 120 {
		t.Errorf("served by %v", served)
	}
	testState(t, a, b)
	testLists(t, a, b)
	testCluster(t, a, b)

	testStandby(t, a, b, k)

	// b leaves. Its partitions can be read from a alone, which soon owns them.
	b.stop()
	running(t, map[*peer]int{a: 24})
	charge(t, k, "third", 5)
	for c := range 60 {
		res, err := a.client.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: fmt.Sprint("c", c), Wait: true})
		if err != nil || res.ChargedMicros != int64(22*(c+1)) || res.AsOf.ServedBy.Instance != "a" {
			t.Errorf("after b left: %v, %v", res, err)
		}
	}

	// One campaign id in several accounts: the index finds them in all partitions.
	produce(t, k, 8, func(i int) (account, campaign string) { return fmt.Sprint("account-", i), "shared" })
	_, err := a.client.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "shared", Wait: true})
	if connect.CodeOf(err) != connect.CodeFailedPrecondition || !strings.Contains(err.Error(), `exists in 8 accounts (charged: "account-0" 0.000001 USD; "account-1" 0.000002 USD`) {
		t.Errorf("a campaign of 8 accounts: %v", err)
	}
	res, err := a.client.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "shared", Account: "account-3", Wait: true})
	if err != nil || res.ChargedMicros != 4 {
		t.Errorf("one of 8 accounts: %v, %v", res, err)
	}
}

// testLists asks both processes for the spend of each account and for the first campaigns of today.
func testLists(t *testing.T, a, b *peer) {
	t.Helper()
	today := time.Now().UTC().Format(time.DateOnly)
	for i, p := range []*peer{a, b} {
		for c := range 60 {
			res, err := p.client.ListSpend(t.Context(), &weirpb.ListSpendRequest{Account: fmt.Sprint("account-", c), By: []string{"", "account"}[i]})
			if err != nil || len(res.Rows) != 1 || res.Rows[0].ChargedMicros != int64(10*(c+1)) || res.Rows[0].Events != 10 || res.AsOf.ServedBy.Role != "owner" {
				t.Fatalf("%s returned for account %d: %v, %v", p.name, c, res, err)
			}
		}
		top, err := p.client.TopSpend(t.Context(), &weirpb.TopSpendRequest{Day: today, Limit: 3})
		if err != nil || len(top.Rows) != 3 || len(top.AsOf) != 24 {
			t.Fatalf("%s: %v, %v", p.name, top, err)
		}
		for i, r := range top.Rows {
			if r.Campaign != fmt.Sprint("c", 59-i) || r.ChargedMicros != int64(10*(60-i)) {
				t.Errorf("%s has as number %d: %v", p.name, i, r)
			}
		}
	}
}

// testState reads the state of all partitions through both processes, in large and small pages, key
// by key and by hash.
func testState(t *testing.T, a, b *peer) {
	t.Helper()
	want, pages, err := a.scan(t.Context(), "spend", 0)
	if err != nil || len(want) != 60 || pages != 1 {
		t.Fatalf("%d entries in %d pages: %v", len(want), pages, err)
	}
	for _, p := range []*peer{a, b} {
		got, pages, err := p.scan(t.Context(), "1", 7)
		if err != nil || pages < 9 {
			t.Fatalf("%d pages: %v", pages, err)
		}
		if d := cmp.Diff(want, got, protocmp.Transform()); d != "" {
			t.Errorf("%s: %s", p.name, d)
		}
	}
	for i, e := range want {
		if i > 0 && (e.Partition < want[i-1].Partition || e.Partition == want[i-1].Partition && bytes.Compare(e.Key, want[i-1].Key) <= 0) {
			t.Errorf("entry %d is out of order", i)
		}
		res, err := b.client.GetState(t.Context(), &weirpb.GetStateRequest{Table: "spend", Key: e.Key}) // the key determines the partition
		if err != nil || res.Entry.Partition != e.Partition || !bytes.Equal(res.Entry.Value, e.Value) || !strings.Contains(res.Entry.Json, `"currency":"USD"`) {
			t.Fatalf("key %q: %v, %v", e.Key, res, err)
		}
	}
	res, err := a.client.ScanState(t.Context(), &weirpb.ScanStateRequest{Table: "spend", Prefix: []byte("account-59\x00")})
	if err != nil || len(res.Entries) != 1 || len(res.AsOf) != 24 {
		t.Errorf("one account: %v, %v", res, err)
	}
	_, err = b.client.GetState(t.Context(), &weirpb.GetStateRequest{Table: "health", Key: []byte("nowhere/7"), Partition: new(int32(7))})
	if connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "as of partition 7") {
		t.Errorf("no such key: %v", err)
	}
	testlimit.Within(t, "equal hashes", func(ctx context.Context) error { // a barrier may be written between the two requests
		by := map[string][]string{}
		for _, p := range []*peer{a, b} {
			res, err := p.client.HashState(ctx, &weirpb.HashStateRequest{})
			if err != nil {
				return err
			}
			for _, h := range res.Partitions {
				for _, x := range h.Tables {
					by[p.name] = append(by[p.name], fmt.Sprintf("%d %s %d %x by %s", h.AsOf.Partition, x.Name, x.Keys, x.Hash, h.AsOf.ServedBy.Instance))
				}
			}
		}
		if d := cmp.Diff(by["a"], by["b"]); d != "" || len(by["a"]) < 24 {
			return fmt.Errorf("%d hashes: %s", len(by["a"]), d)
		}
		return nil
	})
}

// testCluster lists all partitions and shards.
func testCluster(t *testing.T, a, b *peer) {
	t.Helper()
	for _, p := range []*peer{a, b} {
		testlimit.Within(t, "partitions and shards of "+p.name, func(ctx context.Context) error {
			parts, err := p.client.ListPartitions(ctx)
			if err != nil {
				return err
			}
			by := map[string]int{}
			for _, x := range parts.Partitions {
				by[x.Instance+" "+x.State]++
			}
			health, err := p.client.ListHealth(ctx)
			if err != nil {
				return err
			}
			if by["a running"] != 12 || by["b running"] != 12 || by["a standby"] != 12 || by["b standby"] != 12 || len(health.Shards) != 24 || len(health.Gaps) != 0 {
				return fmt.Errorf("partitions %v, health %v", by, health)
			}
			return nil
		})
	}
}

// testStandby stops b's API, not its fold. Requests that allow staleness read b's partitions from
// a, their standby.
func testStandby(t *testing.T, a, b *peer, k kafka.Cluster) {
	t.Helper()
	b.mute()
	charge(t, k, "second", 7)
	byStandby := 0
	for c := range 60 {
		req := &weirpb.GetSpendRequest{Campaign: fmt.Sprint("c", c), Account: fmt.Sprint("account-", c)}
		_, err := a.client.GetSpend(t.Context(), req)
		mine := err == nil
		if !mine && (connect.CodeOf(err) != connect.CodeUnavailable || !strings.Contains(err.Error(), "its owner b at ")) {
			t.Errorf("c%d: %v", c, err)
		}
		req.MaxStalenessMs = 20_000
		testlimit.Within(t, "the standby follows", func(ctx context.Context) error {
			res, err := a.client.GetSpend(ctx, req)
			if err != nil {
				return err
			}
			by := res.AsOf.ServedBy
			if want := map[bool]string{true: "owner", false: "standby"}[mine]; by.Role != want || by.Instance != "a" || mine && by.StalenessMs != 0 || by.StalenessMs > req.MaxStalenessMs {
				t.Errorf("c%d: served by %v, want the %s", c, by, want)
			}
			if res.ChargedMicros != int64(17*(c+1)) {
				return fmt.Errorf("c%d: charged %d", c, res.ChargedMicros)
			}
			return nil
		})
		if !mine {
			byStandby++
		}
	}
	if byStandby < 10 || byStandby > 50 {
		t.Errorf("%d of 60 campaigns are b's", byStandby)
	}
	_, err := a.client.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c1", MaxStalenessMs: 1, Wait: true})
	if connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("both wait and staleness: %v", err)
	}
}
