package render

import (
	"time"

	"github.com/weirhq/weir/api/weirpb"
)

// LeaderOverrideRow is an override: a process leads a shard.
type LeaderOverrideRow struct {
	Shard  int32  `json:"shard"`
	Leader string `json:"leader"`
	Until  string `json:"until"` // RFC 3339; that of At: it withdraws the one before
	Who    string `json:"who"`
	Why    string `json:"why"`
	At     string `json:"at" table:"wide"` // RFC 3339
}

// LeaderOverrideRows returns a row for each override.
func LeaderOverrideRows(list []*weirpb.LeaderOverride) []LeaderOverrideRow {
	rows := []LeaderOverrideRow{}
	for _, o := range list {
		rows = append(rows, LeaderOverrideRow{
			Shard: o.GetShard(), Leader: o.GetLeader(), Until: secondText(o.GetUntilMs()), Who: o.GetWho(), Why: o.GetWhy(),
			At: secondText(o.GetAtMs()),
		})
	}
	return rows
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
