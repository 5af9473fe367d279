//go:build synctests

package leaseloop_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// single reports keys that several regions lease now, or whose superseded rows name another winner.
// It reads each row in the region that writes it. The last twins began some time ago, so dedup has
// had time, and their leases last longer.
func (h *hours) single() {
	h.t.Helper()
	keys := map[string]bool{}
	for _, c := range readAll[eventspb.LeaseChange](h.loop, events.LeaseChangesTopic) {
		if k := c.GetKey(); k != nil && k.ExpiresMs > time.Now().UnixMilli() {
			keys[k.Key] = true
		}
	}
	live, contested := 0, 0
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		now, skew := time.Now().UnixMilli(), loopSkew.Milliseconds()
		n, duplicate, wrong := winners(key, h.rowsOf(key), now, skew)
		h.report(wrong)
		live += n
		contested += duplicate
	}
	h.t.Logf("at the end %d live leases, %d of them with a superseded duplicate", live, contested)
	if live < 10 || contested < 2 {
		h.t.Errorf("only %d live leases, %d of them with a superseded duplicate", live, contested)
	}
}

// winners checks the rows of a key, by region: one region at most has a lease, and the superseded
// rows name that region. It returns the numbers of leases and of their superseded duplicates.
func winners(key string, rows map[string]lease.Row, now, skew int64) (live, contested int, wrong []string) {
	var winners, losers []string
	for _, region := range loopRegions() {
		switch r := rows[region]; {
		case r.Live(now, skew):
			winners = append(winners, region)
		case r.State == lease.Superseded && r.Expires > now+skew:
			losers = append(losers, region)
		}
	}
	if len(winners) > 1 {
		wrong = append(wrong, fmt.Sprintf("key %s is leased in %v: %+v", key, winners, rows))
	}
	for _, region := range losers {
		winner := rows[region].Winner
		switch {
		case slices.Contains(losers, winner):
			wrong = append(wrong, fmt.Sprintf("key %s: %s was superseded by %s, which was superseded itself: %+v", key, region, winner, rows))
		case len(winners) == 1 && winner != winners[0]:
			wrong = append(wrong, fmt.Sprintf("key %s: %s was superseded by %s, and %s leases it: %+v", key, region, winner, winners[0], rows))
		case len(winners) == 1:
			contested++
		}
	}
	return len(winners), contested, wrong
}

// rowsOf returns a key's rows, each from its own region, all at one moment: no row was written
// while they were read.
func (h *hours) rowsOf(key string) map[string]lease.Row {
	h.t.Helper()
	var last map[string]lease.Row
	for {
		all := map[string]lease.Row{}
		for _, region := range loopRegions() {
			rows, err := h.table.Keys(context.Background(), region, lease.KeyPartition(loopClient, loopPool, key))
			if err != nil {
				h.t.Fatal(err)
			}
			all[region] = rows[region]
		}
		if maps.Equal(all, last) {
			return all
		}
		last = all
	}
}

// check compares everything that happened with the goals.
func (h *hours) check(span time.Duration) {
	h.t.Helper()
	stock := 0
	for _, n := range h.setup.stock {
		stock += n
	}
	h.settled(stock, time.Now())
	h.users.apart()
	done := map[string]int{}
	for _, r := range readAll[eventspb.LeaseResult](h.loop, events.LeaseResultsTopic) {
		if r.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE {
			done[r.Kind]++
		}
	}
	late := 0
	for _, at := range h.users.refused {
		if at.Sub(h.begun) > min(warmUp, span/3) {
			late++
		}
	}
	share := float64(late) / float64(h.users.asked)
	back, freed := h.recoveryTimes()
	double := h.duplicateTimes()
	h.t.Logf("%d keys, %d refused (%d after the warm-up, %.2f %%), %d renewed, %d released, %d twins; done: %v; %d kills, %d cuts",
		h.users.asked, len(h.users.refused), late, 100*share, h.users.renewed, h.users.released, h.users.twins, done, h.kills, h.cuts)
	h.t.Logf("calls with an unknown outcome: %v", h.users.failed)
	h.t.Logf("expired to available, without the quarantine: %d in quiet times, median %v, p99 %v, maximum %v", len(back), percentile(back, 0.5), percentile(back, 0.99), percentile(back, 1))
	h.t.Logf("expired to freed: median %v, p99 %v, maximum %v", percentile(freed, 0.5), percentile(freed, 0.99), percentile(freed, 1))
	h.t.Logf("leased in two regions: %d in quiet times, median %v, p99 %v, maximum %v", len(double), percentile(double, 0.5), percentile(double, 0.99), percentile(double, 1))
	if p99 := percentile(freed, 0.99); p99 > 5*time.Second || percentile(back, 0.99) > 5*time.Second {
		h.t.Errorf("a resource is freed %v after its lease's end, and available %v after the quarantine: the goal is 5 s", p99, percentile(back, 0.99))
	}
	if most := percentile(double, 1); most > 5*time.Second+h.setup.profile.ReplicationLag.Max {
		h.t.Errorf("a key was leased in two regions for %v: the goal is 5 s and the replication lag", most)
	}
	if share > 0.02 {
		h.t.Errorf("%.1f %% of all keys were refused after the warm-up", 100*share)
	}
	minutes := int(span.Minutes())
	if done["transfer"] < minutes/4 || done["liberate"] < minutes || done["supersede"] < minutes/6 || h.kills < minutes/4 || len(back) < minutes || len(double) < minutes/3 {
		h.t.Errorf("too few events: %v, %d kills, %d ended leases and %d duplicates in quiet times", done, h.kills, len(back), len(double))
	}
}

// warmUp is the time in which forecasts learn.
const warmUp = 10 * time.Minute

// recoveryTimes returns, for each lease that the liberator ended in a quiet time, how long after
// its end and the quarantine its resource was available again, and how long after its end it was
// freed.
func (h *hours) recoveryTimes() (available, freed []time.Duration) {
	done := map[string]int64{}
	for _, r := range readAll[eventspb.LeaseResult](h.loop, events.LeaseResultsTopic) {
		if r.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE {
			done[r.Id] = r.DoneMs
		}
	}
	for _, topic := range commandTopics() {
		for _, c := range readAll[eventspb.LeaseCommand](h.loop, topic) {
			x, at := c.GetLiberate(), done[c.Id]
			if x == nil || at == 0 {
				continue
			}
			end, from := time.UnixMilli(x.ExpiresMs), time.UnixMilli(max(x.AvailableMs, at))
			if h.quiet(end, from) {
				available, freed = append(available, from.Sub(end)-quarantine), append(freed, time.UnixMilli(at).Sub(end))
			}
		}
	}
	return available, freed
}

// duplicateTimes returns for how long keys were leased in two regions, for duplicates in quiet
// times. It reports duplicates that remain.
func (h *hours) duplicateTimes() []time.Duration {
	h.t.Helper()
	list, wrong := resolved(readAll[eventspb.LeaseDuplicate](h.loop, events.LeaseDuplicatesTopic), h.quiet)
	h.report(wrong)
	return list
}

// resolved returns how long duplicates existed that quiet accepts, and the keys that are leased in
// two regions by their last record. The time begins when the later row names a resource, before any
// user sees it, and ends when dedup sees that one of the rows was superseded or has ended.
func resolved(records []*eventspb.LeaseDuplicate, quiet func(from, to time.Time) bool) (list []time.Duration, wrong []string) {
	open := map[string]*eventspb.LeaseDuplicate{}
	for _, d := range records {
		if d.State != "resolved" {
			open[d.Key] = d
			continue
		}
		delete(open, d.Key)
		from := int64(0)
		for _, r := range d.Rows {
			from = max(from, r.GrantedMs)
		}
		if since, until := time.UnixMilli(from), time.UnixMilli(d.ResolvedMs); quiet(since, until) {
			list = append(list, until.Sub(since))
		}
	}
	for _, d := range open {
		wrong = append(wrong, fmt.Sprintf("a duplicate is not resolved: %v", d))
	}
	return list, wrong
}
