package render

import (
	"cmp"
	"fmt"
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// OverrideRow is an override of an operator: a process leads a shard, a campaign has a probability,
// or ad servers have the parameters of a datacentre.
type OverrideRow struct {
	Shard       *int32   `json:"shard"`       // nil: it is of another kind
	Leader      string   `json:"leader"`      // of the shard
	Account     string   `json:"account"`     // of the campaign
	Campaign    string   `json:"campaign"`    // empty: it is of another kind
	Probability *float64 `json:"probability"` // of the campaign; 0: it stops
	Writer      string   `json:"writer"`      // datacentre; empty: it is of another kind
	Until       string   `json:"until"`       // RFC 3339; that of At: it withdraws the one before
	Who         string   `json:"who"`
	Why         string   `json:"why"`
	At          string   `json:"at" table:"wide"` // RFC 3339
}

// OverrideRows returns a row for each override: that of the writer, those of shards, and those of
// campaigns.
func OverrideRows(list *weirpb.ListOverridesResponse) []OverrideRow {
	rows := []OverrideRow{}
	if o := list.GetWriter(); o != nil {
		rows = append(rows, OverrideRow{
			Writer: o.GetWriter(), Until: secondText(o.GetUntilMs()), Who: o.GetWho(), Why: o.GetWhy(), At: secondText(o.GetAtMs()),
		})
	}
	for _, o := range list.GetLeaders() {
		rows = append(rows, OverrideRow{
			Shard: new(o.GetShard()), Leader: o.GetLeader(), Until: secondText(o.GetUntilMs()), Who: o.GetWho(), Why: o.GetWhy(),
			At: secondText(o.GetAtMs()),
		})
	}
	for _, o := range list.GetCampaigns() {
		rows = append(rows, OverrideRow{
			Account: o.GetAccount(), Campaign: o.GetCampaign(), Probability: new(o.GetProbability()), Until: secondText(o.GetUntilMs()),
			Who: o.GetWho(), Why: o.GetWhy(), At: secondText(o.GetAtMs()),
		})
	}
	return rows
}

// overrideText is a sentence about the override of a campaign.
func overrideText(o *weirpb.CampaignOverride) string {
	what := "has stopped it"
	if p := o.GetProbability(); p > 0 {
		what = "has set its probability to " + PercentText(p)
	}
	why := ""
	if o.GetWhy() != "" {
		why = ": " + plain(o.GetWhy())
	}
	return fmt.Sprintf("%s %s until %s%s.", cmp.Or(plain(o.GetWho()), "An operator"), what, utc(o.GetUntilMs()), why)
}

// secondText formats a time, Unix ms, without fractions of seconds.
func secondText(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// obeyWait is the age of an override from which on the shard should have moved.
const obeyWait = 30 * time.Second

// notLed returns that the process of an override does not lead the partition, empty if it does, or
// if the override is too new.
func notLed(s *weirpb.PacingShard, nowMs int64) string {
	o := s.GetOverride()
	if o == nil || nowMs-o.GetAtMs() < obeyWait.Milliseconds() || s.GetAsOf().GetServedBy().GetInstance() == o.GetLeader() {
		return ""
	}
	return o.GetLeader() + " is to lead it by an override, and does not: it is away, or catches up"
}
