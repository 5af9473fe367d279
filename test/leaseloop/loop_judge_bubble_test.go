//go:build synctests

package leaseloop_test

import (
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// settled holds the table of a loop at rest against what must be true of it: each resource is there, of one region, alike in all
// of them, and free; nothing is in flight; every command has been answered.
func (l *loop) settled(count int) {
	l.t.Helper()
	first := l.stock(loopRegions()[0])
	if len(first) != count {
		l.t.Errorf("%d resources, %d were made", len(first), count)
	}
	for _, region := range loopRegions()[1:] {
		rows := l.stock(region)
		for name, row := range first {
			if rows[name] != row {
				l.t.Errorf("%s is %+v in %s, %+v in %s", name, row, loopRegions()[0], rows[name], region)
			}
		}
		if len(rows) != len(first) {
			l.t.Errorf("%s knows %d resources, %d were made", region, len(rows), count)
		}
	}
	for name, row := range first {
		if row.Holder != "" || row.Expires != 0 || row.Available == 0 {
			l.t.Errorf("%s is not free long after all leases have ended: %+v", name, row)
		}
	}
	if n := l.inFlight(); n != 0 {
		l.t.Errorf("%d resources are in flight at rest", n)
	}
	l.answered()
}

// answered complains of commands that have no result.
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
					l.t.Errorf("a command has no answer: %v", c)
				}
			}
		}
	}
	l.t.Logf("%d commands, %d without an answer", commands, unanswered)
}
