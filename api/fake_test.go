package api

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/obs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeSpend is a SpendSource over records in memory.
type fakeSpend struct {
	records   []*eventspb.Spend
	partition int32
	noAsOf    bool
	everyone  bool // returns all records, whatever the query
	shards    []*eventspb.SpendHistogram
	err       error
	wait      func(ctx context.Context, account string) error
	during    func(ctx context.Context) // runs inside Spend
}

func (f *fakeSpend) asOf() *weirpb.AsOf {
	return &weirpb.AsOf{Partition: f.partition, NextOffsets: map[string]int64{"ads.events": 1234}, AppliedMs: 1700000000500}
}

func (f *fakeSpend) Spend(ctx context.Context, q SpendQuery, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error) {
	if f.during != nil {
		f.during(ctx)
	}
	if f.err != nil {
		return nil, f.err
	}
	for _, r := range f.records {
		if !f.everyone && (r.GetCampaign() != q.Campaign || (q.Account != "" && r.GetAccount() != q.Account)) {
			continue
		}
		at := f.asOf()
		if f.noAsOf {
			at = nil
		}
		if err := fn(r, at); err != nil {
			return nil, err
		}
	}
	if f.noAsOf {
		return nil, nil
	}
	return []*weirpb.AsOf{f.asOf()}, nil
}

func (f *fakeSpend) WaitProduced(ctx context.Context, account string) error {
	if f.wait == nil {
		return nil
	}
	return f.wait(ctx, account)
}

func (f *fakeSpend) Health(_ context.Context, fn func(*eventspb.SpendHistogram) error) error {
	if f.err != nil {
		return f.err
	}
	for _, h := range f.shards {
		if err := fn(h); err != nil {
			return err
		}
	}
	return nil
}

type fakeCluster struct {
	parts []*weirpb.Partition
	err   error
}

func (f *fakeCluster) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	if f.err != nil {
		return nil, f.err
	}
	return &weirpb.GetClusterResponse{Brokers: []string{"127.0.0.1:9092"}, Dc: "local", EventsTopic: "ads.events", Partitions: 24, Version: "v1.2.3"}, nil
}

func (f *fakeCluster) Tasks(context.Context) ([]*weirpb.Partition, error) { return f.parts, f.err }

// tasks makes f the source of the cluster and of the tasks of the first application.
func (c *Config) tasks(f *fakeCluster) {
	c.Cluster = f
	c.Apps = append([]App{}, c.Apps...)
	c.Apps[0].Tasks = f
}

// record returns one day of campaign c1 of account a1: impressions at 1000 micros each, and free
// clicks.
func record(day int32, dc string, impressions, clicks uint64) *eventspb.Spend {
	return &eventspb.Spend{
		Account: "a1", Campaign: "c1", BudgetDay: day, Currency: "CNY", Duplicates: 2, AsOfMs: int64(day) * 10,
		ByDc: []*eventspb.SpendByDC{{
			ServingDc: dc, ChargedMicros: int64(impressions) * 1000, RefundedMicros: 7,
			Events: []*eventspb.TypeCount{
				{Type: eventspb.EventType_EVENT_TYPE_IMPRESSION, Count: impressions},
				{Type: eventspb.EventType_EVENT_TYPE_CLICK, Count: clicks},
			},
		}},
	}
}

func with(r *eventspb.Spend, change func(*eventspb.Spend)) *eventspb.Spend {
	change(r)
	return r
}

// config serves three days of one campaign.
func config() Config {
	cluster := &fakeCluster{parts: []*weirpb.Partition{
		{App: "spendcounter", Partition: 9, State: "stopped", Reason: "offset out of range: run weir doctor"},
		{App: "spendcounter", Partition: 5, State: "running", NextOffsets: map[string]int64{"ads.events": 1234}, Lag: new(int64(3)), Sequence: 42},
	}}
	return Config{
		Listen:    "127.0.0.1:0",
		OpsListen: "127.0.0.1:0",
		Spend: &fakeSpend{
			partition: 5,
			records:   []*eventspb.Spend{record(20131020, "local", 10, 1), record(20131019, "local", 30, 2), record(20131021, "east", 2, 0)},
			shards: []*eventspb.SpendHistogram{
				{
					WriterDc: "local", Shard: 7, Sequence: 9, TimestampMs: 1700000000000, ApproxCount: 60, WrittenAtMs: 1700000000100,
					Origins: []*eventspb.OriginHealth{{Dc: "east", CumulativeCount: 5, CumulativeMicros: 50, Lost: 1, Rejected: 2}, {Dc: "local", CumulativeCount: 7, CumulativeMicros: 70}},
				},
				{WriterDc: "local", Shard: 3, WrittenAtMs: 1700000000100},
			},
		},
		Cluster:  cluster,
		Apps:     []App{{Name: "spendcounter", Instance: "weir-0", Tasks: cluster}},
		Registry: obs.NewRegistry("test"),
	}
}

func mustNew(t testing.TB, cfg Config) *Server {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run starts the server and returns a function that stops it and returns the error of Run.
func run(t testing.TB, s *Server) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	select {
	case <-s.Ready():
	case err := <-done:
		cancel()
		t.Fatalf("Run before ready: %v", err)
	}
	stopped := false
	stop = func() error {
		cancel()
		if stopped {
			return nil
		}
		stopped = true
		return <-done
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// post sends a request to the data handler as curl does, and returns status and body.
func post(t testing.TB, h http.Handler, path, body string) (int, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	return serve(h, r)
}

func serve(h http.Handler, r *http.Request) (int, string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// client returns an HTTP client whose connections end with the test.
func client(t *testing.T) *http.Client {
	tr := &http.Transport{}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func get(t *testing.T, c *http.Client, url string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var b bytes.Buffer
	if _, err := io.Copy(&b, res.Body); err != nil {
		t.Fatal(err)
	}
	return res, b.String()
}

// metric returns the value of a counter or gauge with these label values, in the order of the label
// names.
func metric(t *testing.T, r *obs.Registry, name string, labels ...string) float64 {
	t.Helper()
	fams, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fams {
		if f.GetName() != name {
			continue
		}
	next:
		for _, m := range f.GetMetric() {
			for i, l := range m.GetLabel() {
				if l.GetValue() != labels[i] {
					continue next
				}
			}
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return 0
}
