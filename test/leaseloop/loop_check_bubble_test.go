//go:build synctests

package leaseloop_test

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// settled checks the tables of an idle loop: each resource exists, has one owner, is equal in all
// regions and available; no resource is in transit; every command has a result.
func (l *loop) settled(count int) {
	l.t.Helper()
	first := l.stock(loopRegions()[0])
	if len(first) != count {
		l.t.Errorf("%d resources, want %d", len(first), count)
	}
	for _, region := range loopRegions()[1:] {
		rows := l.stock(region)
		for name, row := range first {
			if rows[name] != row {
				l.t.Errorf("%s is %+v in %s, %+v in %s", name, row, loopRegions()[0], rows[name], region)
			}
		}
		if len(rows) != len(first) {
			l.t.Errorf("%s has %d resources, want %d", region, len(rows), count)
		}
	}
	for name, row := range first {
		if row.Holder != "" || row.Expires != 0 || row.Available == 0 {
			l.t.Errorf("%s is not available long after all leases have ended: %+v", name, row)
		}
	}
	if n := l.inTransit(); n != 0 {
		l.t.Errorf("%d resources are in transit in an idle loop", n)
	}
	l.answered()
}

// answered reports commands without a result.
func (l *loop) answered() {
	l.t.Helper()
	results := map[string]bool{}
	for _, r := range readAll[eventspb.LeaseResult](l, events.LeaseResultsTopic) {
		results[r.Id] = true
	}
	commands, unanswered := 0, 0
	for _, topic := range commandTopics() {
		for _, c := range readAll[eventspb.LeaseCommand](l, topic) {
			commands++
			if !results[c.Id] {
				if unanswered++; unanswered < 5 {
					l.t.Errorf("a command has no result: %v", c)
				}
			}
		}
	}
	l.t.Logf("%d commands, %d without a result", commands, unanswered)
}
