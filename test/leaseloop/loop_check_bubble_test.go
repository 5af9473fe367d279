//go:build synctests

package leaseloop_test

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// report fails the test for what a checker found.
func (l *loop) report(wrong []string) {
	l.t.Helper()
	for _, text := range wrong[:min(20, len(wrong))] {
		l.t.Error(text)
	}
	if more := len(wrong) - 20; more > 0 {
		l.t.Errorf("and %d more", more)
	}
}

// settled checks the tables of an idle loop and its commands. All resources are offered by a time.
func (l *loop) settled(count int, offered time.Time) {
	l.t.Helper()
	stock := map[string]map[string]lease.Row{}
	for _, region := range loopRegions() {
		stock[region] = l.stock(region)
	}
	l.report(unsettled(stock, count, offered))
	if n := l.inTransit(); n != 0 {
		l.t.Errorf("%d resources are in transit in an idle loop", n)
	}
	l.answered()
}

// unsettled checks the resources of an idle loop, by region and name: each exists, is owned by a
// region, is equal in all regions, and not leased, and is offered by a time.
func unsettled(stock map[string]map[string]lease.Row, count int, offered time.Time) (wrong []string) {
	first := stock[loopRegions()[0]]
	for _, region := range loopRegions() {
		if n := len(stock[region]); n != count {
			wrong = append(wrong, fmt.Sprintf("%s has %d resources, want %d", region, n, count))
		}
	}
	for name, row := range first {
		for _, region := range loopRegions()[1:] {
			if other := stock[region][name]; other != row {
				wrong = append(wrong, fmt.Sprintf("%s is %+v in %s, %+v in %s", name, row, loopRegions()[0], other, region))
			}
		}
		if row.Holder != "" || row.Expires != 0 || row.Available == 0 || row.Available > offered.UnixMilli() {
			wrong = append(wrong, fmt.Sprintf("%s is not available long after all leases have ended: %+v", name, row))
		}
		if !slices.Contains(loopRegions(), row.Owner) {
			wrong = append(wrong, fmt.Sprintf("%s is owned by no region: %+v", name, row))
		}
	}
	return wrong
}

// answered reports commands without a result.
func (l *loop) answered() {
	l.t.Helper()
	var commands []*eventspb.LeaseCommand
	for _, topic := range commandTopics() {
		commands = append(commands, readAll[eventspb.LeaseCommand](l, topic)...)
	}
	wrong := unanswered(commands, readAll[eventspb.LeaseResult](l, events.LeaseResultsTopic))
	l.report(wrong)
	l.t.Logf("%d commands, %d without a result", len(commands), len(wrong))
}

// unanswered returns the commands that have no result.
func unanswered(commands []*eventspb.LeaseCommand, results []*eventspb.LeaseResult) (wrong []string) {
	has := map[string]bool{}
	for _, r := range results {
		has[r.Id] = true
	}
	for _, c := range commands {
		if !has[c.Id] {
			wrong = append(wrong, fmt.Sprintf("a command has no result: %v", c))
		}
	}
	return wrong
}
