package spend

import (
	"testing"
	"time"

	"github.com/weirhq/weir/spendcounter/reconcile"
)

// TestReached: the events of a campaign day are compared only if the log has all of them, wherever
// on earth the day began.
func TestReached(t *testing.T) {
	days := []reconcile.Difference{
		{CampaignDay: reconcile.CampaignDay{Day: 20261101}}, {CampaignDay: reconcile.CampaignDay{Day: 20261102}},
		{CampaignDay: reconcile.CampaignDay{Day: 20261103}},
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
		{time.Time{}, 3}, {at("2026-10-31T09:59:00Z"), 3}, {at("2026-10-31T10:00:00Z"), 2}, {at("2026-11-02T09:00:00Z"), 1},
		{at("2026-11-02T11:00:00Z"), 0},
	} {
		if got := (&eventLog{begin: c.begin}).reached(days); len(got) != c.want || c.want > 0 && got[c.want-1].Day != 20261103 {
			t.Errorf("a log from %v on: %v", c.begin, got)
		}
	}
}
