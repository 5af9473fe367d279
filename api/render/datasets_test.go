package render

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weirhq/weir/api/weirpb"
)

// TestNoEventOfAnOrigin: the text of a lag that is a substitute names the origin, for the shard and
// over all shards, whatever the lag of other shards. JSON has the number.
func TestNoEventOfAnOrigin(t *testing.T) {
	const day = 86_400_000
	never := &weirpb.Dataset{Dc: "us", LagMs: day, LagOrigin: "ap", Never: true}
	late := &weirpb.Dataset{Dc: "us", LagMs: day, LagOrigin: "sa"}
	shards := func(datasets ...*weirpb.Dataset) (list []*weirpb.ShardDatasets) {
		for _, d := range datasets {
			list = append(list, &weirpb.ShardDatasets{Datasets: []*weirpb.Dataset{d}})
		}
		return list
	}
	for _, list := range [][]*weirpb.ShardDatasets{shards(never, late), shards(late, never), shards(never)} {
		l := DatasetRows(list)[0].Lag
		if raw, err := json.Marshal(l); fmt.Sprint(l) != "no event of ap" || string(raw) != "86400" || err != nil {
			t.Errorf("%v, JSON %s, %v", l, raw, err)
		}
	}
	if l := ShardDatasetRows(shards(late, never)); fmt.Sprint(l[0].Lag, l[1].Lag) != "86400 no event of ap" {
		t.Errorf("%v, then %v", l[0].Lag, l[1].Lag)
	}
}

// TestDatasetRows: the row of a dataset has the sums and the worst figures of its shards.
func TestDatasetRows(t *testing.T) {
	shards := []*weirpb.ShardDatasets{
		{
			Choice: &weirpb.DatasetChoice{Shard: 0, Dc: "eu", Reason: "eu is the own datacentre"},
			Datasets: []*weirpb.Dataset{
				{Dc: "eu", Chosen: true, Healthy: true, AgeMs: 312, Count_60S: 10, Rows: []*weirpb.SpendRow{{Campaign: "c1", Day: "2026-11-23", Events: 3}}},
				{Dc: "us", Healthy: true, AgeMs: 1200, LagMs: 449, Deficit: 0.0104, Count_60S: 9, Lost: 1},
			},
		},
		{
			Choice: &weirpb.DatasetChoice{Shard: 1, Dc: "us", Reason: "eu lags"}, PacingDc: "ap",
			Datasets: []*weirpb.Dataset{
				{Dc: "eu", AgeMs: 900, LagMs: 7000, LagOrigin: "ap", Problem: "eu lags now", Count_60S: 5},
				{Dc: "us", Chosen: true, Healthy: true, AgeMs: -1, Count_60S: 9, Lost: 2},
			},
		},
	}
	for name, tc := range map[string]struct {
		rows any
		want string
	}{
		"datasets": {DatasetRows(shards), `[{"dataset":"eu","chosen":1,"healthy":1,"shards":2,"age_seconds":0.9,"lag_seconds":7,"lacks_percent":0,"last_60s":15,` +
			`"lost":0,"reason":"eu lags now"},{"dataset":"us","chosen":1,"healthy":2,"shards":2,"age_seconds":1.2,"lag_seconds":0.4,"lacks_percent":1,` +
			`"last_60s":18,"lost":3,"reason":"eu lags"}]`},
		"shards": {ShardDatasetRows(shards)[2:], `[{"shard":1,"dataset":"eu","chosen":false,"healthy":false,"age_seconds":0.9,"lag_seconds":7,"lag_origin":"ap",` +
			`"lacks_percent":0,"last_60s":5,"lost":0,"reason":"eu lags now","pacing":"ap"},{"shard":1,"dataset":"us","chosen":true,"healthy":true,"lag_seconds":0,` +
			`"lag_origin":"","lacks_percent":0,"last_60s":9,"lost":2,"reason":"eu lags","pacing":"ap"}]`},
		"campaign": {DatasetSpendRows(shards), `[{"dataset":"eu","chosen":true,"account":"","campaign":"c1","day":"2026-11-23","currency":"","charged_micros":0,` +
			`"refunded_micros":0,"impressions":0,"clicks":0,"events":3,"duplicates":0}]`},
	} {
		if got, err := json.Marshal(tc.rows); err != nil || string(got) != tc.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
