package api

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/override"
)

// fakeOverrides are those of processes a and b.
type fakeOverrides struct {
	leaders   []*eventspb.LeaderOverride
	campaigns []*eventspb.CampaignOverride
	writer    *eventspb.WriterOverride
	err       error // of Processes and SetLeader
	unread    error // of Leaders
}

func (f *fakeOverrides) Leaders() (list []*eventspb.LeaderOverride, err error) {
	for _, o := range f.leaders {
		if override.InForce(o, time.Now()) {
			list = append(list, o)
		}
	}
	return list, f.unread
}

func (f *fakeOverrides) Campaigns() (list []*eventspb.CampaignOverride, err error) {
	for _, o := range f.campaigns {
		if override.InForce(o, time.Now()) {
			list = append(list, o)
		}
	}
	return list, f.unread
}

func (f *fakeOverrides) SetCampaign(_ context.Context, o *eventspb.CampaignOverride) error {
	f.campaigns = append(f.campaigns, o)
	return f.err
}

func (f *fakeOverrides) Processes(context.Context) ([]string, error) {
	return []string{"a", "b"}, f.err
}

func (f *fakeOverrides) SetLeader(_ context.Context, o *eventspb.LeaderOverride) error {
	f.leaders = append(f.leaders, o)
	return f.err
}

func (f *fakeOverrides) Writer() (*eventspb.WriterOverride, error) {
	if f.writer == nil || !override.InForce(f.writer, time.Now()) {
		return nil, f.unread
	}
	return f.writer, f.unread
}

func (f *fakeOverrides) Writers() []string { return []string{"eu", "us"} }

func (f *fakeOverrides) SetWriter(_ context.Context, o *eventspb.WriterOverride) error {
	f.writer = o
	return f.err
}

// TestOverrideLeader: an override is written with its end, replaced, withdrawn, and in the answers
// of its shard. What cannot be given is refused with the reason, and nothing is written.
func TestOverrideLeader(t *testing.T) {
	overrides := &fakeOverrides{}
	cfg := pacingConfig(newPackState(t, pack("acme", 0, 1, time.Second, node("spring", "behind_plan", 0.5))), &fakeBudgets{})
	cfg.Overrides = overrides
	s := mustNew(t, cfg)
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	set := func(req *weirpb.OverrideLeaderRequest) (*weirpb.LeaderOverride, error) {
		res, err := c.OverrideLeader(t.Context(), req)
		return res.GetOverride(), err
	}
	for want, req := range map[string]*weirpb.OverrideLeaderRequest{
		"shard 99 does not exist: use 0 to":       {Shard: 99, Leader: "b", DurationMs: 60_000},
		"shard -1 does not exist":                 {Shard: -1, Leader: "b", DurationMs: 60_000},
		`no process "c" paces accounts now: use`:  {Leader: "c", DurationMs: 60_000},
		"duration_ms 0 is out of range: use 1000": {Leader: "b"},
		"duration_ms 86400001 is out of":          {Leader: "b", DurationMs: 24*3600_000 + 1},
		"duration_ms -18000000000000 is":          {Leader: "b", DurationMs: -18_000_000_000_000},
		"a duration and no leader":                {DurationMs: 1000},
		"nothing to withdraw":                     {},
		"why 501":                                 {Leader: "b", DurationMs: 1000, Why: strings.Repeat("x", 501)},
	} {
		if _, err := set(req); err == nil || !strings.Contains(err.Error(), want) || len(overrides.leaders) > 0 {
			t.Errorf("want %q, got %v and overrides %v", want, err, overrides.leaders)
		}
	}
	before := time.Now().UnixMilli()
	first, err := set(&weirpb.OverrideLeaderRequest{Shard: 1, Leader: "b", DurationMs: 600_000, Who: "ana", Why: "test"})
	if err != nil || first.GetLeader() != "b" || first.GetWho() != "ana" || first.GetWhy() != "test" || first.GetAtMs() < before ||
		first.GetUntilMs() < before+600_000 || first.GetUntilMs() > time.Now().UnixMilli()+600_000 {
		t.Fatalf("%v, %v", first, err)
	}
	second, err := set(&weirpb.OverrideLeaderRequest{Shard: 1, Leader: "a", DurationMs: 60_000})
	if err != nil {
		t.Fatal(err)
	}
	overrides.leaders = overrides.leaders[1:]
	status, err := c.GetPacingStatus(t.Context(), &weirpb.GetPacingStatusRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, shard := range status.GetShards() {
		if (shard.GetOverride().GetLeader() == "a") != (shard.GetPartition() == 1) {
			t.Errorf("partition %d has the override %v", shard.GetPartition(), shard.GetOverride())
		}
	}
	list := func() []*weirpb.LeaderOverride {
		res, err := c.ListOverrides(t.Context(), &weirpb.ListOverridesRequest{})
		if err != nil {
			t.Fatal(err)
		}
		return res.GetLeaders()
	}
	if l := list(); len(l) != 1 || l[0].GetLeader() != "a" {
		t.Errorf("overrides %v", l)
	}
	last, err := set(&weirpb.OverrideLeaderRequest{Shard: 1, Who: "ana"})
	if err != nil || last.GetLeader() != "a" || last.GetUntilMs() != last.GetAtMs() || last.GetWho() != "ana" {
		t.Errorf("%v does not withdraw %v: %v", last, second, err)
	}
	overrides.leaders = overrides.leaders[1:]
	if l := list(); len(l) != 0 {
		t.Errorf("overrides %v", l)
	}
	overrides.unread = errors.New("the overrides have not been read yet")
	if _, err := set(&weirpb.OverrideLeaderRequest{Shard: 1}); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Error(err)
	}
	overrides.unread, overrides.err = nil, errors.New("no broker answers")
	if _, err := set(&weirpb.OverrideLeaderRequest{Leader: "b", DurationMs: 1000}); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Error(err)
	}
}

// TestOverrideCampaign: an override of a campaign is written with its end, listed, and withdrawn.
// What cannot be given is refused with the reason, and nothing is written.
func TestOverrideCampaign(t *testing.T) {
	overrides := &fakeOverrides{}
	stopped := node("summer", "paused", 0.5)
	stopped.Override = &eventspb.CampaignOverride{Account: "acme", Campaign: "summer", Who: "bo", AtMs: 1, UntilMs: 2}
	cfg := pacingConfig(newPackState(t, pack("acme", 0, 1, time.Second, node("spring", "behind_plan", 0.5), stopped)), &fakeBudgets{})
	cfg.Overrides = overrides
	s := mustNew(t, cfg)
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	set := func(req *weirpb.OverrideCampaignRequest) (*weirpb.CampaignOverride, error) {
		res, err := c.OverrideCampaign(t.Context(), req)
		return res.GetOverride(), err
	}
	request := func(change func(r *weirpb.OverrideCampaignRequest)) *weirpb.OverrideCampaignRequest {
		r := &weirpb.OverrideCampaignRequest{Account: "acme", Campaign: "spring", Probability: new(0.0), DurationMs: 60_000}
		change(r)
		return r
	}
	for want, change := range map[string]func(r *weirpb.OverrideCampaignRequest){
		`has no campaign "autumn"`:         func(r *weirpb.OverrideCampaignRequest) { r.Campaign = "autumn" },
		`account "other" is not paced`:     func(r *weirpb.OverrideCampaignRequest) { r.Account = "other" },
		`account ""`:                       func(r *weirpb.OverrideCampaignRequest) { r.Account = "" },
		`campaign "a\x00b" is not`:         func(r *weirpb.OverrideCampaignRequest) { r.Campaign = "a\x00b" },
		"probability 2 is out of range":    func(r *weirpb.OverrideCampaignRequest) { r.Probability = new(2.0) },
		"holds for 86400001 ms: use 1s to": func(r *weirpb.OverrideCampaignRequest) { r.DurationMs = 24*3600_000 + 1 },
		"the override begins at":           func(r *weirpb.OverrideCampaignRequest) { r.DurationMs = -1 },
		"a probability and no duration":    func(r *weirpb.OverrideCampaignRequest) { r.DurationMs, r.Probability = 0, new(0.5) },
		"the request has no probability":   func(r *weirpb.OverrideCampaignRequest) { r.Probability = nil },
		"there is nothing to withdraw":     func(r *weirpb.OverrideCampaignRequest) { r.DurationMs, r.Probability = 0, nil },
		"why 501":                          func(r *weirpb.OverrideCampaignRequest) { r.Why = strings.Repeat("x", 501) },
	} {
		if _, err := set(request(change)); err == nil || !strings.Contains(err.Error(), want) || len(overrides.campaigns) > 0 {
			t.Errorf("want %q, got %v and overrides %v", want, err, overrides.campaigns)
		}
	}
	before := time.Now().UnixMilli()
	got, err := set(request(func(r *weirpb.OverrideCampaignRequest) { r.Probability, r.Who, r.Why = new(0.25), "ana", "test" }))
	if err != nil || got.GetProbability() != 0.25 || got.GetWho() != "ana" || got.GetWhy() != "test" || got.GetAtMs() < before ||
		got.GetUntilMs() != got.GetAtMs()+60_000 {
		t.Fatalf("%v, %v", got, err)
	}
	list, err := c.ListOverrides(t.Context(), &weirpb.ListOverridesRequest{})
	if err != nil || len(list.GetCampaigns()) != 1 || list.GetCampaigns()[0].GetCampaign() != "spring" {
		t.Errorf("%v, %v", list, err)
	}
	end, err := set(request(func(r *weirpb.OverrideCampaignRequest) { r.DurationMs, r.Probability = 0, nil }))
	if err != nil || end.GetUntilMs() != end.GetAtMs() || end.GetCampaign() != "spring" {
		t.Errorf("%v, %v", end, err)
	}
	paced, err := c.GetPacing(t.Context(), &weirpb.GetPacingRequest{Account: "acme", Campaign: "summer"})
	if err != nil || paced.GetPacing().GetCampaigns()[0].GetOverride().GetWho() != "bo" {
		t.Errorf("%v, %v", paced, err)
	}
	overrides.err = errors.New("no broker answers")
	if _, err := set(request(func(*weirpb.OverrideCampaignRequest) {})); connect.CodeOf(err) != connect.CodeUnavailable {
		t.Error(err)
	}
}

// TestOverrideWriter: an override of the writer is written with its end, listed and withdrawn. What
// cannot be given is refused with the reason, and nothing is written.
func TestOverrideWriter(t *testing.T) {
	overrides := &fakeOverrides{}
	cfg := pacingConfig(newPackState(t), &fakeBudgets{})
	cfg.Overrides = overrides
	s := mustNew(t, cfg)
	run(t, s)
	c := NewClient(s.Addr())
	t.Cleanup(c.Close)
	give := func(req *weirpb.OverrideWriterRequest) (*weirpb.WriterOverride, error) {
		res, err := c.OverrideWriter(t.Context(), req)
		return res.GetOverride(), err
	}
	for want, req := range map[string]*weirpb.OverrideWriterRequest{
		"there is nothing to withdraw":  {},
		"has a duration and no writer":  {DurationMs: 1000},
		"has no duration":               {Writer: "us"},
		"use one of eu, us":             {Writer: "ap", DurationMs: 60_000},
		"the override holds for 999 ms": {Writer: "us", DurationMs: 999},
	} {
		if _, err := give(req); err == nil || !strings.Contains(err.Error(), want) || overrides.writer != nil {
			t.Errorf("want %q, got %v; written: %v", want, err, overrides.writer)
		}
	}
	o, err := give(&weirpb.OverrideWriterRequest{Writer: "us", DurationMs: 60_000, Who: "ana", Why: "late budgets"})
	if err != nil || o.GetWriter() != "us" || o.GetUntilMs()-o.GetAtMs() != 60_000 || o.GetWho() != "ana" || o.GetWhy() != "late budgets" {
		t.Fatalf("%v, %v", o, err)
	}
	list, err := c.ListOverrides(t.Context(), &weirpb.ListOverridesRequest{})
	if err != nil || list.GetWriter().GetWriter() != "us" {
		t.Errorf("%v, %v", list, err)
	}
	if o, err := give(&weirpb.OverrideWriterRequest{}); err != nil || o.GetUntilMs() != o.GetAtMs() {
		t.Errorf("withdrawn: %v, %v", o, err)
	}
	if list, err := c.ListOverrides(t.Context(), &weirpb.ListOverridesRequest{}); err != nil || list.GetWriter() != nil {
		t.Errorf("%v, %v", list, err)
	}
	overrides.err = errors.New("no broker")
	if _, err := give(&weirpb.OverrideWriterRequest{Writer: "us", DurationMs: 60_000}); err == nil || !strings.Contains(err.Error(), "list the overrides") {
		t.Errorf("%v", err)
	}
}
