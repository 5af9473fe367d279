package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// TestGetParameters: an answer has all campaigns and arms of all parts of an account. Its age is
// that of the newest part, since the parts that were not written have not changed.
func TestGetParameters(t *testing.T) {
	arm := node("x", "ahead_of_plan", 0.25)
	first := node("c1", "behind_plan", 0.5)
	first.LastsMs, first.Arms = new(int64(90_000)), []*eventspb.PacedNode{arm}
	list := []*eventspb.AccountPack{
		pack("a1", 0, 2, 40*time.Second, first), pack("a1", 1, 2, 5*time.Second, node("c2", "first_tick", 1)),
	}
	f := &fakeCache{packs: list}
	c := cacheClient(t, f)
	res, err := c.GetParameters(t.Context(), &weirpb.GetParametersRequest{Account: "a1"})
	if err != nil {
		t.Fatal(err)
	}
	if res.GetAccount() != "a1" || res.GetWriterDc() != list[1].GetWriterDc() || res.GetTickMs() != list[1].GetAtMs() || len(res.GetCampaigns()) != 2 {
		t.Fatalf("%v", res)
	}
	one, two := res.GetCampaigns()[0], res.GetCampaigns()[1]
	for what, d := range map[string]int64{
		"account": res.GetAgeMs() - 5_000, "c1": one.GetAgeMs() - 40_000, "x": one.GetArms()[0].GetAgeMs() - 40_000, "c2": two.GetAgeMs() - 5_000,
	} {
		if d < 0 || d > 30_000 {
			t.Errorf("%s is %d ms older than it should be", what, d)
		}
	}
	if one.GetId() != "c1" || !one.GetOpen() || one.GetProbability() != 0.5 || one.GetMultiplier() != first.GetMultiplier() ||
		one.GetReason() != "behind_plan" || one.GetLastsMs() != 90_000 {
		t.Errorf("%v", one)
	}
	if x := one.GetArms()[0]; x.GetId() != "x" || x.GetProbability() != 0.25 || x.GetReason() != "ahead_of_plan" {
		t.Errorf("%v", x)
	}
	if two.LastsMs != nil {
		t.Errorf("%v", two)
	}
	f.packs = nil
	none, err := c.GetParameters(t.Context(), &weirpb.GetParametersRequest{Account: "a1"})
	if err != nil || len(none.GetCampaigns()) != 0 || none.GetTickMs() != 0 || none.GetAgeMs() != 0 {
		t.Errorf("an account without packs: %v %v", none, err)
	}
}

func TestGetParametersErrors(t *testing.T) {
	for _, tc := range []struct {
		account string
		f       *fakeCache
		code    connect.Code
		want    string
	}{
		{"a1", nil, connect.CodeFailedPrecondition, "spendcache"},
		{"", &fakeCache{}, connect.CodeInvalidArgument, "no account"},
		{"a\x00b", &fakeCache{}, connect.CodeInvalidArgument, "NUL byte"},
		{"a1", &fakeCache{err: fmt.Errorf("%w: x", ErrNoDataset)}, connect.CodeUnavailable, "another datacentre"},
		{"a1", &fakeCache{err: ErrNoPacing}, connect.CodeFailedPrecondition, "set Pacing"},
		{"a1", &fakeCache{err: errors.New("disk")}, connect.CodeInternal, "disk"},
		{"a1", &fakeCache{packs: []*eventspb.AccountPack{pack("a2", 0, 1, 0)}}, connect.CodeInternal, "a2"},
	} {
		_, err := cacheClient(t, tc.f).GetParameters(t.Context(), &weirpb.GetParametersRequest{Account: tc.account})
		if connect.CodeOf(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %v, want %s", tc.account, err, tc.want)
		}
	}
}
