//go:build synctests

package leaseloop_test

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// single complains of keys that several regions lease now, or that know of no or of another winner: by the rows themselves, each in
// the region that writes it. The last twins were some time ago, so dedup had time, and their leases go on.
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
		rows := h.rowsOf(key)
		var winners, losers []string
		for _, region := range loopRegions() {
			switch r := rows[region]; {
			case r.Live(now, skew):
				winners = append(winners, region)
			case r.State == lease.Superseded && r.Expires > now+skew:
				losers = append(losers, region)
			}
		}
		live += len(winners)
		if len(winners) > 1 {
			h.t.Errorf("key %s is leased in %v: %+v", key, winners, rows)
		}
		for _, region := range losers {
			winner := rows[region].Winner
			switch {
			case slices.Contains(losers, winner):
				h.t.Errorf("key %s: %s was superseded by %s, which was superseded itself: %+v", key, region, winner, rows)
			case len(winners) == 1 && winner != winners[0]:
				h.t.Errorf("key %s: %s was superseded by %s, and %s has it: %+v", key, region, winner, winners[0], rows)
			case len(winners) == 1:
				contested++
			}
		}
	}
	h.t.Logf("in the end %d live leases, %d of them won against another", live, contested)
	if live < 10 || contested < 2 {
		h.t.Errorf("%d live leases, %d of which won against another, are too few to tell", live, contested)
	}
}

// rowsOf are a key's rows, each as its own region has it, all at one moment: none was written while they were read.
func (h *hours) rowsOf(key string) map[string]lease.Row {
	h.t.Helper()
	var last map[string]lease.Row
	for {
		all := map[string]lease.Row{}
		for _, region := range loopRegions() {
			rows, err := h.table.Keys(context.Background(), region, lease.KeyRows(loopClient, loopPool, key))
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

// judge holds all that happened against what was to happen.
func (h *hours) judge(span time.Duration) {
	h.t.Helper()
	stock := 0
	for _, n := range h.setup.stock {
		stock += n
	}
	h.settled(stock)
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
	back, freed := h.backAgain()
	double := h.doubles()
	h.t.Logf("%d keys, %d refused (%d after the warm-up, %.2f %%), %d renewed, %d released, %d twins; done: %v; %d kills, %d cuts",
		h.users.asked, len(h.users.refused), late, 100*share, h.users.renewed, h.users.released, h.users.twins, done, h.kills, h.cuts)
	h.t.Logf("calls without an outcome: %v", h.users.failed)
	h.t.Logf("expired -> available, beyond the quarantine: %d in quiet, median %v, p99 %v, most %v", len(back), percentile(back, 0.5), percentile(back, 0.99), percentile(back, 1))
	h.t.Logf("expired -> freed: median %v, p99 %v, most %v", percentile(freed, 0.5), percentile(freed, 0.99), percentile(freed, 1))
	h.t.Logf("leased in two regions: %d in quiet, median %v, p99 %v, most %v", len(double), percentile(double, 0.5), percentile(double, 0.99), percentile(double, 1))
	if p99 := percentile(freed, 0.99); p99 > 5*time.Second || percentile(back, 0.99) > 5*time.Second {
		h.t.Errorf("a resource is freed %v after its lease's end, and available %v after the quarantine: 5 s are the goal", p99, percentile(back, 0.99))
	}
	if most := percentile(double, 1); most > 5*time.Second+h.setup.profile.ReplicationLag.Max {
		h.t.Errorf("a key was leased in two regions for %v: the lag of replication and 5 s are the goal", most)
	}
	if share > 0.02 {
		h.t.Errorf("%.1f %% of all keys were refused after the warm-up", 100*share)
	}
	minutes := int(span.Minutes())
	if done["transfer"] < minutes/4 || done["liberate"] < minutes || done["supersede"] < minutes/6 || h.kills < minutes/4 || len(back) < minutes || len(double) < minutes/3 {
		h.t.Errorf("too little happened to tell: %v, %d kills, %d leases that ended and %d duplicates in quiet", done, h.kills, len(back), len(double))
	}
}

// warmUp is how long forecasts have to learn.
const warmUp = 10 * time.Minute

// backAgain gives, for each lease that was over and was ended by the liberator while all was quiet, how long after its end and the
// quarantine its resource could be leased again, and how long after its end it was freed.
func (h *hours) backAgain() (available, freed []time.Duration) {
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

// doubles gives for how long keys were leased in two regions, those that became so while all was quiet: from when the later row
// named a resource, which is before anybody could see it, until dedup saw that one of them was superseded or over.
func (h *hours) doubles() (list []time.Duration) {
	for _, d := range readAll[eventspb.LeaseDuplicate](h.loop, events.LeaseDuplicatesTopic) {
		if d.State != "resolved" {
			continue
		}
		from := int64(0)
		for _, r := range d.Rows {
			from = max(from, r.GrantedMs)
		}
		if since, until := time.UnixMilli(from), time.UnixMilli(d.ResolvedMs); h.quiet(since, until) {
			list = append(list, until.Sub(since))
		}
	}
	return list
}
