package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// fakeCache is a SpendCacheSource with campaign days of account a1, and two shards.
type fakeCache struct {
	records []*eventspb.Spend
	parts   []*eventspb.PartSpend
	err     error
	mu      sync.Mutex
	asked   CacheQuery // guarded by mu
	away    bool
	packs   []*eventspb.AccountPack
}

func (f *fakeCache) Packs(context.Context, string) ([]*eventspb.AccountPack, error) {
	return f.packs, f.err
}

func (f *fakeCache) Away(string) bool { return f.away }

func (f *fakeCache) Campaign(_ context.Context, campaign, account string,
	fn func(*eventspb.Spend, *weirpb.DatasetChoice) error,
) ([]*weirpb.DatasetChoice, error) {
	c := &weirpb.DatasetChoice{Shard: 1, Mode: "normal", Dc: "us", Reason: "eu lags", WrittenMs: 1700000000000, AgeMs: 7}
	for _, r := range f.records {
		if r.GetCampaign() != campaign || account != "" && r.GetAccount() != account {
			continue
		}
		if err := fn(r, c); err != nil {
			return nil, err
		}
	}
	return []*weirpb.DatasetChoice{{Mode: "normal", Dc: "eu"}, c}, f.err
}

func (f *fakeCache) Shard(account string) int32 { return events.Shard(account, 2) }

func (f *fakeCache) Account(_ context.Context, q CacheQuery, fn func(*eventspb.Spend, []*eventspb.PartSpend) error) (*weirpb.DatasetChoice, error) {
	f.mu.Lock()
	f.asked = q
	f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	for _, r := range f.records {
		if err := fn(r, f.parts); err != nil {
			return nil, err
		}
	}
	return &weirpb.DatasetChoice{Shard: 1, Mode: "normal", Dc: "eu", AgeMs: 5}, nil
}

// Rows has all records in the dataset of eu, the first one in that of us, and cannot read that of
// ap.
func (f *fakeCache) Rows(_ context.Context, q CacheQuery) (*weirpb.ShardDatasets, [][]*eventspb.Spend, error) {
	f.mu.Lock()
	f.asked = q
	f.mu.Unlock()
	if f.err != nil {
		return nil, nil, f.err
	}
	return &weirpb.ShardDatasets{
		Choice: &weirpb.DatasetChoice{Shard: 1, Mode: "normal", Dc: "eu", Reason: "eu is the own datacentre", SinceMs: 1700000000000},
		Datasets: []*weirpb.Dataset{
			{Dc: "eu", Chosen: true, Healthy: true},
			{Dc: "us", Problem: "us lags by 7.0 s in the events of eu"},
			{Dc: "ap", Healthy: true, Unread: "the partition is loading"},
		},
	}, [][]*eventspb.Spend{f.records, f.records[:min(1, len(f.records))], nil}, nil
}

func (f *fakeCache) Datasets() (list []*weirpb.ShardDatasets) {
	for n := range int32(2) {
		list = append(list, &weirpb.ShardDatasets{Choice: &weirpb.DatasetChoice{Shard: n}, Datasets: []*weirpb.Dataset{{Dc: "eu"}, {Dc: "us"}}})
	}
	return list
}

func cacheClient(t testing.TB, f *fakeCache) *Client {
	t.Helper()
	cfg := config()
	if f != nil {
		cfg.SpendCache = f
	}
	s := mustNew(t, cfg)
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	return c
}

func TestGetAccount(t *testing.T) {
	f := &fakeCache{
		records: []*eventspb.Spend{record(20131019, "eu", 30, 2), with(record(20131020, "eu", 10, 1), func(r *eventspb.Spend) {
			r.ByDc = append(r.ByDc, &eventspb.SpendByDC{ServingDc: "us", ChargedMicros: 5})
		})},
		parts: []*eventspb.PartSpend{{LineItem: "l", Arm: "x", ChargedMicros: 3, Events: 2}},
	}
	c := cacheClient(t, f)
	res, err := c.GetAccount(t.Context(), &weirpb.GetAccountRequest{Account: "a1", From: "2013-10-19", Campaigns: []string{"c1"}, Parts: true})
	if err != nil {
		t.Fatal(err)
	}
	if q := f.asked; q.Account != "a1" || q.From != 20131019 || len(q.Campaigns) != 1 || !q.Parts || q.Limit != 50_000 {
		t.Errorf("asked for %+v", q)
	}
	if res.GetAccount() != "a1" || res.GetChoice().GetDc() != "eu" || len(res.Rows) != 2 || len(res.Parts) != 2 {
		t.Fatalf("%v", res)
	}
	if r := res.Rows[1]; r.Account != "" || r.Campaign != "c1" || r.Day != "2013-10-20" || r.Currency != "CNY" || r.ChargedMicros != 10_005 ||
		r.RefundedMicros != 7 || r.Events != 11 || r.Impressions != 10 || r.Clicks != 1 || r.Duplicates != 2 {
		t.Errorf("row %v", r)
	}
	if p := res.Parts[1]; p.Campaign != "c1" || p.Day != "2013-10-20" || p.LineItem != "l" || p.Arm != "x" || p.ChargedMicros != 3 || p.Events != 2 {
		t.Errorf("part %v", p)
	}
	if _, err := c.GetAccount(t.Context(), &weirpb.GetAccountRequest{Account: "a1"}); err != nil {
		t.Fatal(err)
	}
	yesterday := events.UTCDay(time.Now().Add(-24 * time.Hour).UnixMilli())
	if got := f.asked.From; got != yesterday && got != yesterday-1 { // midnight
		t.Errorf("asked from %d, want yesterday", got)
	}
}

func TestGetAccountErrors(t *testing.T) {
	valid := func() *weirpb.GetAccountRequest { return &weirpb.GetAccountRequest{Account: "a1"} }
	for _, tc := range []struct {
		name   string
		f      *fakeCache
		change func(*weirpb.GetAccountRequest)
		code   connect.Code
		want   string
	}{
		{"no role", nil, nil, connect.CodeFailedPrecondition, "spendcache"},
		{"no account", &fakeCache{}, func(r *weirpb.GetAccountRequest) { r.Account = "" }, connect.CodeInvalidArgument, "no account"},
		{"NUL", &fakeCache{}, func(r *weirpb.GetAccountRequest) { r.Account = "a\x00b" }, connect.CodeInvalidArgument, "NUL byte"},
		{"campaign", &fakeCache{}, func(r *weirpb.GetAccountRequest) { r.Campaigns = []string{""} }, connect.CodeInvalidArgument, "one of campaigns is empty"},
		{"campaigns", &fakeCache{}, func(r *weirpb.GetAccountRequest) { r.Campaigns = make([]string, 1001) }, connect.CodeInvalidArgument, "at most 1000"},
		{"day", &fakeCache{}, func(r *weirpb.GetAccountRequest) { r.From = "spring" }, connect.CodeInvalidArgument, "spring"},
		{"no dataset", &fakeCache{err: fmt.Errorf("%w: x", ErrNoDataset)}, nil, connect.CodeUnavailable, "another datacentre"},
		{"source", &fakeCache{err: errors.New("disk")}, nil, connect.CodeInternal, "disk"},
		{"too many rows", &fakeCache{err: ErrTooManyRows}, nil, connect.CodeResourceExhausted, "name some campaigns"},
		{
			"another account", &fakeCache{records: []*eventspb.Spend{{Account: "a2"}}}, nil, connect.CodeInternal, "a2",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := cacheClient(t, tc.f)
			req := valid()
			if tc.change != nil {
				tc.change(req)
			}
			_, err := c.GetAccount(t.Context(), req)
			if connect.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestCachedSpend: GetSpend is answered from the spend cache while that uses the dataset of another
// datacentre, and in a process without the counter.
func TestCachedSpend(t *testing.T) {
	f := &fakeCache{records: []*eventspb.Spend{record(20131019, "eu", 30, 2), record(0, "eu", 1, 0)}}
	c := cacheClient(t, f)
	req := &weirpb.GetSpendRequest{Campaign: "c1"}
	own, err := c.GetSpend(t.Context(), req)
	if err != nil || own.GetChoice() != nil || own.GetImpressions() != 42 {
		t.Fatalf("with the own dataset: %v %v", own, err)
	}
	f.away = true
	res, err := c.GetSpend(t.Context(), req)
	if err != nil || res.GetChoice().GetDc() != "us" || res.GetImpressions() != 31 || len(res.GetDays()) != 2 ||
		res.GetAsOf().GetServedBy().GetRole() != "spendcache" || res.GetAsOf().GetServedBy().GetStalenessMs() != 7 {
		t.Errorf("with that of another datacentre: %v %v", res, err)
	}
	if res, err := c.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c1", Wait: true}); err != nil || res.GetChoice() != nil {
		t.Errorf("with wait: %v %v", res, err)
	}
	_, err = c.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "none"})
	if connect.CodeOf(err) != connect.CodeNotFound || !strings.Contains(err.Error(), "dataset that is used now") {
		t.Errorf("%v", err)
	}
	f.err = fmt.Errorf("%w: x", ErrNoDataset)
	if res, err := c.GetSpend(t.Context(), req); err != nil || res.GetChoice() != nil {
		t.Errorf("without a dataset: %v %v", res, err)
	}
	f.err = nil
	if poll, err := c.PollSpend(t.Context(), &weirpb.PollSpendRequest{Spend: req}); err != nil || poll.GetSpend().GetChoice() != nil {
		t.Errorf("a long poll: %v %v", poll, err)
	}
	cfg := config()
	cfg.Spend, cfg.SpendCache = nil, f
	s := mustNew(t, cfg)
	run(t, s)
	alone := NewClient(s.Addr())
	t.Cleanup(alone.Close)
	if res, err := alone.GetSpend(t.Context(), req); err != nil || res.GetChoice().GetDc() != "us" {
		t.Errorf("without the counter: %v %v", res, err)
	}
	if _, err := alone.GetSpend(t.Context(), &weirpb.GetSpendRequest{Campaign: "c1", Wait: true}); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("without the counter, with wait: %v", err)
	}
}

func TestListDatasets(t *testing.T) {
	c := cacheClient(t, &fakeCache{})
	all, err := c.ListDatasets(t.Context(), &weirpb.ListDatasetsRequest{})
	if err != nil || len(all.Shards) != 2 {
		t.Fatalf("%v %v", all, err)
	}
	one, err := c.ListDatasets(t.Context(), &weirpb.ListDatasetsRequest{Account: "a1"})
	if err != nil || len(one.Shards) != 1 || one.Shards[0].GetChoice().GetShard() != events.Shard("a1", 2) {
		t.Errorf("%v %v", one, err)
	}
	if _, err := c.ListDatasets(t.Context(), &weirpb.ListDatasetsRequest{Account: "a\x00"}); connect.CodeOf(err) != connect.CodeInvalidArgument {
		t.Errorf("%v", err)
	}
	if _, err := cacheClient(t, nil).ListDatasets(t.Context(), &weirpb.ListDatasetsRequest{}); connect.CodeOf(err) != connect.CodeFailedPrecondition {
		t.Errorf("%v", err)
	}
}

// FuzzGetAccountJSON sends any body as a request. The answer is always JSON with a code that a
// caller can cause, and nothing panics.
func FuzzGetAccountJSON(f *testing.F) {
	for _, seed := range []string{
		`{"account":"a1"}`, `{"account":"a1","from":"2013-10-19","campaigns":["c1"],"parts":true}`, `{"account":"\u0000"}`, `{"from":"0000-00-00"}`, `{`, ``,
	} {
		f.Add([]byte(seed))
	}
	cfg := config()
	cfg.SpendCache = &fakeCache{}
	h := mustNew(f, cfg).dataHandler()
	f.Fuzz(func(t *testing.T, body []byte) {
		status, answer := post(t, h, weirpbconnect.SpendCacheServiceGetAccountProcedure, string(body))
		var got struct{ Code, Message string }
		if err := json.Unmarshal([]byte(answer), &got); err != nil || !utf8.ValidString(answer) {
			t.Fatalf("%d %q: %v", status, answer, err)
		}
		if status != http.StatusOK && !slices.Contains([]string{"invalid_argument", "resource_exhausted"}, got.Code) {
			t.Fatalf("%q got %d %s", body, status, answer)
		}
	})
}

// TestCampaignDatasets: with a campaign, an answer has the rows of each dataset.
func TestCampaignDatasets(t *testing.T) {
	f := &fakeCache{records: []*eventspb.Spend{record(20131019, "eu", 30, 2), record(20131020, "eu", 10, 1)}}
	c := cacheClient(t, f)
	req := &weirpb.ListDatasetsRequest{Account: "a1", Campaign: "c1"}
	res, err := c.ListDatasets(t.Context(), req)
	if err != nil || len(res.GetShards()) != 1 {
		t.Fatalf("%v %v", res, err)
	}
	d := res.GetShards()[0].GetDatasets()
	if len(d) != 3 || len(d[0].GetRows()) != 2 || len(d[1].GetRows()) != 1 || d[2].GetUnread() == "" || d[0].GetRows()[1].GetChargedMicros() != 10_000 ||
		d[0].GetRows()[0].GetDay() != "2013-10-19" {
		t.Errorf("%v", d)
	}
	if q := f.asked; q.Account != "a1" || len(q.Campaigns) != 1 || q.Campaigns[0] != "c1" || q.From != 0 || q.Limit != 50_000 {
		t.Errorf("asked for %+v", q)
	}
	rejected := func(want string, code connect.Code) {
		t.Helper()
		if _, err := c.ListDatasets(t.Context(), req); connect.CodeOf(err) != code || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f.records[1].Campaign = "c2"
	rejected("a defect of weir", connect.CodeInternal)
	f.err = fmt.Errorf("%w: the cache has just started", ErrNoDataset)
	rejected("just started", connect.CodeUnavailable)
	f.err = ErrTooManyRows
	rejected("more than 50000", connect.CodeResourceExhausted)
	req.Account = ""
	rejected("without its account", connect.CodeInvalidArgument)
	req.Campaign = "a\x00b"
	rejected("NUL byte", connect.CodeInvalidArgument)
}
