package spend

import (
	"testing"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/spendcounter/reconcile"
)

// TestReach: the events of a campaign day are compared only if the partition of the account has all
// of them, wherever on earth the day began.
func TestReach(t *testing.T) {
	var days []reconcile.Difference
	const shards = 2
	for _, day := range []events.Day{20261101, 20261102, 20261103} {
		days = append(days, reconcile.Difference{CampaignDay: reconcile.CampaignDay{Account: "acme", Day: day}})
	}
	at := func(text string) (at time.Time) {
		t.Helper()
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	for _, c := range []struct {
		begin time.Time
		want  int
	}{
		{time.Time{}, 3},
		{at("2026-10-31T09:59:00Z"), 3},
		{at("2026-10-31T10:00:00Z"), 2},
		{at("2026-11-02T09:00:00Z"), 1},
		{at("2026-11-02T11:00:00Z"), 0},
	} {
		own := events.Shard("acme", shards)
		l := eventLog{shards: shards, begins: map[int32]time.Time{1 - own: at("2026-12-01T00:00:00Z")}}
		if !c.begin.IsZero() {
			l.begins[own] = c.begin
		}
		if l.reach(days); len(l.days) != c.want || c.want > 0 && l.days[c.want-1].Day != 20261103 {
			t.Errorf("a log from %v on: %v", c.begin, l.days)
		}
	}
}
