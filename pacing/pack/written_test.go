package pack

import (
	"fmt"
	"testing"

	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// TestWritten: a pack that does not move is written once a minute. Accounts that a new owner has
// written together are not written together again.
func TestWritten(t *testing.T) {
	const accounts, minutes = 300, 5
	pacer := control.NewPacer(control.Config{})
	most, last := 0, make([]int64, accounts)
	list := make([]*Account, accounts)
	for i := range list {
		list[i] = New(fmt.Sprintf("account-%d", i), pacer)
		list[i].SetVersions(budget.Versions{}.Add(document(t, 1, nil, budget.Campaign{ID: "c", Limit: daily(0)})))
	}
	sum := 0
	for n := range int64(6*minutes + 1) {
		at, written := noon()+n*tickMs, 0
		for i, a := range list {
			if len(tick(t, a, at, row("c", day1, 0))) == 1 {
				written, last[i] = written+1, at
			}
			if at-last[i] > WriteAfter.Milliseconds() {
				t.Fatalf("account %d: its pack is %d ms old", i, at-last[i])
			}
		}
		if n == 0 && written != accounts {
			t.Fatalf("%d of %d packs in the first tick", written, accounts)
		}
		if n > 0 {
			most, sum = max(most, written), sum+written
		}
	}
	if most > accounts/4 || sum != minutes*accounts {
		t.Errorf("%d packs, up to %d in a tick", sum, most)
	}
}
