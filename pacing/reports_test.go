package pacing

import (
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// TestReports: each account of a report counts once, also if reports are repeated or come late.
func TestReports(t *testing.T) {
	var r knownReports
	now := time.Unix(1_700_000_000, 0)
	for i, c := range []struct {
		reporter, account string
		sequence          uint64
		later             time.Duration
		want              bool
	}{
		{"a", "acme", 1, 0, true},
		{"a", "initech", 1, 0, true},
		{"a", "acme", 1, time.Second, false},
		{"b", "acme", 1, 0, true},
		{"a", "acme", 3, time.Second, true},
		{"a", "acme", 2, 0, true}, // another datacentre has taken it before, and is read later
		{"a", "initech", 1, reportsFor, false},
		{"a", "initech", 3, time.Second, true},
		{"a", "acme", 3, reportsFor - 2*time.Second, false},
		{"c", "acme", 9, 2 * reportsFor, true},
	} {
		now = now.Add(c.later)
		got := r.first(&eventspb.InsertionSums{Reporter: c.reporter, Account: c.account, Sequence: c.sequence}, now)
		if got != c.want {
			t.Errorf("%d: %+v: %t", i, c, got)
		}
	}
	for n := range 3 * mostReports {
		r.first(&eventspb.InsertionSums{Reporter: "d", Account: "acme", Sequence: uint64(n)}, now)
	}
	if n := len(r.last) + len(r.before); n > 2*mostReports {
		t.Errorf("%d reports are known", n)
	}
}
