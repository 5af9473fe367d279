package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/api/page"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// ringCluster is a process of one of three datacentres.
type ringCluster struct{ fakeCluster }

// Cluster implements ClusterSource.
func (c *ringCluster) Cluster(ctx context.Context) (*weirpb.GetClusterResponse, error) {
	res, err := c.fakeCluster.Cluster(ctx)
	if err == nil {
		res.Dc, res.Dcs, res.Partitions = "eu", []string{"eu", "us=10.0.0.1:9092", "ap"}, 2
	}
	return res, err
}

// switchedCache is a spend cache that uses the dataset of us for one of two shards.
type switchedCache struct{ fakeCache }

// Datasets implements SpendCacheSource.
func (c *switchedCache) Datasets() []*weirpb.ShardDatasets {
	list := c.fakeCache.Datasets()
	for i, dc := range []string{"eu", "us"} {
		list[i].Choice.Mode, list[i].Choice.Dc, list[i].Choice.Reason = "normal", dc, "the reason of "+dc+" <script>"
		list[i].Datasets[i].Chosen, list[i].Datasets[i].Healthy = true, true
		list[i].Datasets[1-i].Problem, list[i].Datasets[i].Lost = "a problem", 1203
	}
	return list
}

// TestDatacentresOnOverview: the overview of a process with several datacentres has the choice of
// its spend cache, and the copies. Without a cache it names the role.
func TestDatacentresOnOverview(t *testing.T) {
	if _, body := index(t, config(), "/"); strings.Contains(body, "Datacentres") {
		t.Error("a process with one datacentre shows the section")
	}
	cfg := config()
	cfg.Cluster, cfg.SpendCache = &ringCluster{}, &switchedCache{}
	cfg.Apps = append(cfg.Apps, App{Name: "mirror", Instance: "weir-0", Tasks: &fakeCluster{parts: []*weirpb.Partition{
		{App: "mirror", Partition: 0, State: "running", Copies: []*weirpb.CopyStatus{{Dc: "us", Topic: "ads.events", Stopped: true, Problem: "<b>lost</b>"}}},
	}}})
	res, body := index(t, cfg, "/")
	if res.StatusCode != http.StatusOK || strings.Contains(body, "<b>lost") || strings.Contains(body, "<script>") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	for _, want := range []string{
		"<b>eu</b> is chosen for 1 of 2 shards.", "<b>us</b> is chosen for 1 of 2 shards.", "the reason of us &lt;script&gt;",
		"stopped in part, until an operator acts: &lt;b&gt;lost", "1 shard does not use the own dataset", "This process has no push",
	} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	rows := cells(t, body, "datacentres")
	if !slices.ContainsFunc(rows, func(r []string) bool {
		return slices.Equal(r, []string{"us", "1 of 2", "1 of 2 healthy", "0.0 s", "0", "1,203"})
	}) {
		t.Errorf("%q", rows)
	}
	cfg = config()
	cfg.Cluster = &ringCluster{}
	if _, body := index(t, cfg, "/"); !strings.Contains(body, "<code>spendcache</code>") {
		t.Errorf("%s", body)
	}
	cfg.Registry, cfg.SpendCache = config().Registry, panickingCache{}
	if _, body := index(t, cfg, "/"); !strings.Contains(body, "this is a defect of weir") {
		t.Errorf("%s", body)
	}
}

// panickingCache is a SpendCacheSource with a defect.
type panickingCache struct{ SpendCacheSource }

// Datasets implements SpendCacheSource.
func (panickingCache) Datasets() []*weirpb.ShardDatasets { panic("boom") }

// TestDatasetsOfCampaign: the page of a campaign has the rows of each dataset, and so has a search
// that finds the campaign in one account.
func TestDatasetsOfCampaign(t *testing.T) {
	hostile := "<script>alert(1)</script>"
	f := &fakeCache{records: []*eventspb.Spend{record(20131020, "local", 10, 1), record(20131019, "local", 30, 2)}}
	cfg := config()
	cfg.Cluster, cfg.SpendCache = &ringCluster{}, f
	source := cfg.Spend.(*fakeSpend)
	h := mustNew(t, cfg).dataHandler()
	for _, path := range []string{page.SpendPath("a1", "c1"), "/spend?q=c1", "/spend?campaign=c1"} {
		_, body := browse(h, path)
		rows := cells(t, body, "compared")
		want := [][]string{
			{"2013-10-20", "eu (own), chosen", "0.01", "0.000007", "11", ""},
			{"", "us", "0.01", "0.000007", "11", "equal"},
			{"", "ap", "not read", "", "", ""},
			{"2013-10-19", "eu (own), chosen", "0.03", "0.000007", "32", ""},
			{"", "us", "no row", "", "", "less: it has no row"},
			{"", "ap", "not read", "", "", ""},
		}
		if fmt.Sprint(rows) != fmt.Sprint(want) {
			t.Errorf("%s: %q", path, rows)
		}
		for _, want := range []string{"<b>eu</b> is chosen for shard 1,", "cannot be read now: the partition is loading", "us lags by 7.0 s in the events of eu"} {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q", path, want)
			}
		}
	}
	f.err = fmt.Errorf("%w: %s", ErrNoDataset, hostile)
	if _, body := browse(h, page.SpendPath("a1", "c1")); !strings.Contains(body, "Not available now") || strings.Contains(body, hostile) {
		t.Errorf("%s", body)
	}
	for range maxDays { // the days of the second account are beyond those of the page
		source.records = append(source.records, source.records[0])
	}
	source.records = append(source.records, with(record(20131020, "local", 1, 0), func(s *eventspb.Spend) { s.Account = "a2" }))
	if _, body := browse(h, "/spend?q=c1"); !strings.Contains(body, "Several accounts have the campaign") {
		t.Errorf("%s", body)
	}
	for _, path := range []string{"/spend?q=nothing", page.SpendPath("a1", "")} {
		if _, body := browse(h, path); strings.Contains(body, `id="compared"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	cfg = config()
	cfg.Cluster = &ringCluster{}
	if _, body := index(t, cfg, page.SpendPath("a1", "c1")); !strings.Contains(body, "<code>spendcache</code>") {
		t.Errorf("%s", body)
	}
	if _, body := index(t, config(), page.SpendPath("a1", "c1")); strings.Contains(body, `id="compared"`) {
		t.Errorf("one datacentre: %s", body)
	}
}

// Rows implements SpendCacheSource. It answers in time only.
func (c *switchedCache) Rows(ctx context.Context, q CacheQuery) (*weirpb.ShardDatasets, [][]*eventspb.Spend, error) {
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	return c.fakeCache.Rows(ctx, q)
}

// TestDatasetsOfSlowSearch: a search gets the account of a campaign from its days. The rows of the
// datasets are on the page if the days took all their time but answered.
func TestDatasetsOfSlowSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Cluster = &ringCluster{}
		cfg.SpendCache = &switchedCache{fakeCache{records: []*eventspb.Spend{record(20131020, "local", 10, 1)}}}
		cfg.Spend.(*fakeSpend).during = func(ctx context.Context) { <-ctx.Done() }
		h := mustNew(t, cfg).dataHandler()
		for _, path := range []string{"/spend?campaign=c1", "/spend?q=c1"} {
			began := time.Now()
			_, body := browse(h, path)
			if rows := cells(t, body, "compared"); len(rows) != 3 || rows[1][5] != "equal" {
				t.Errorf("%s: %s", path, body)
			}
			if took := time.Since(began); took != readyLimit {
				t.Errorf("%s took %s", path, took)
			}
		}
	})
}

// TestDatasetsWithoutOwner: an owner that does not answer takes all the time of the page. The rows
// of the datasets are local, and on it all the same; without an account the page states why not.
func TestDatasetsWithoutOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := config()
		cfg.Cluster = &ringCluster{}
		cfg.SpendCache = &switchedCache{fakeCache{records: []*eventspb.Spend{record(20131020, "local", 10, 1)}}}
		source := cfg.Spend.(*fakeSpend)
		source.during, source.err = func(ctx context.Context) { <-ctx.Done() }, context.DeadlineExceeded
		h := mustNew(t, cfg).dataHandler()
		_, body := browse(h, page.SpendPath("a1", "c1"))
		if rows := cells(t, body, "compared"); len(rows) != 3 || rows[1][5] != "equal" || !strings.Contains(body, "its time limit") {
			t.Errorf("%s", body)
		}
		for _, path := range []string{"/spend?campaign=c1", "/spend?q=c1"} {
			if _, body := browse(h, path); !strings.Contains(body, "its account is not known") {
				t.Errorf("%s: %s", path, body)
			}
		}
	})
}
