//go:build synctests

package leaseloop_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// noticed fails the test unless a checker reports want, or nothing if want is empty.
func noticed(t *testing.T, name string, got []string, want string) {
	t.Helper()
	if (len(got) == 0) != (want == "") || !strings.Contains(strings.Join(got, "\n"), want) {
		t.Errorf("%s: the checker reports %q, want %q", name, got, want)
	}
}

// TestUnsettledNotices: a resource of an idle loop that is lost, in use, or different in a region
// is reported.
func TestUnsettledNotices(t *testing.T) {
	now := time.UnixMilli(10_000)
	all := func(stock map[string]map[string]lease.Row, change func(*lease.Row)) {
		for _, rows := range stock {
			row := rows["r2"]
			change(&row)
			rows["r2"] = row
		}
	}
	type stock = map[string]map[string]lease.Row
	one := func(s stock, change func(*lease.Row)) {
		row := s["us"]["r2"]
		change(&row)
		s["us"]["r2"] = row
	}
	for name, c := range map[string]struct {
		plant func(s stock)
		want  string // empty: correct
	}{
		"correct":                      {func(stock) {}, ""},
		"a resource is lost":           {func(s stock) { delete(s["ap"], "r2"); delete(s["eu"], "r2"); delete(s["us"], "r2") }, "ap has 1 resources, want 2"},
		"one region lost it":           {func(s stock) { delete(s["us"], "r2") }, "us has 1 resources, want 2"},
		"the first region lost it":     {func(s stock) { delete(s["ap"], "r2") }, "ap has 1 resources, want 2"},
		"a resource is in one more":    {func(s stock) { s["us"]["r3"] = s["us"]["r2"] }, "us has 3 resources, want 2"},
		"a region has another name":    {func(s stock) { s["us"]["r3"] = s["us"]["r2"]; delete(s["us"], "r2") }, "r2 is"},
		"a region has another version": {func(s stock) { one(s, func(r *lease.Row) { r.Version++ }) }, "in us"},
		"a region has another owner":   {func(s stock) { one(s, func(r *lease.Row) { r.Owner = "us" }) }, "in us"},
		"a region has a holder":        {func(s stock) { one(s, func(r *lease.Row) { r.Holder = "h" }) }, "in us"},
		"a lease was not ended":        {func(s stock) { all(s, func(r *lease.Row) { r.Holder, r.Expires, r.Available = "h", 5_000, 0 }) }, "r2 is not available"},
		"a holder remains":             {func(s stock) { all(s, func(r *lease.Row) { r.Holder = "h" }) }, "r2 is not available"},
		"an end remains":               {func(s stock) { all(s, func(r *lease.Row) { r.Expires = 5_000 }) }, "r2 is not available"},
		"it is offered to no region":   {func(s stock) { all(s, func(r *lease.Row) { r.Available = 0 }) }, "r2 is not available"},
		"it is on its way":             {func(s stock) { all(s, func(r *lease.Row) { r.Available = 20_000 }) }, "r2 is not available"},
		"it has no owner":              {func(s stock) { all(s, func(r *lease.Row) { r.Owner = "" }) }, "r2 is owned by no region"},
		"a removed region owns it":     {func(s stock) { all(s, func(r *lease.Row) { r.Owner = "mars" }) }, "r2 is owned by no region"},
	} {
		s := stock{}
		for _, region := range loopRegions() {
			s[region] = map[string]lease.Row{"r1": {Version: 3, Owner: "ap", Available: 10}, "r2": {Version: 5, Owner: "eu", Available: 9_000}}
		}
		c.plant(s)
		noticed(t, name, unsettled(s, 2, now), c.want)
	}
}

// TestUnansweredNotices: a command without a result is reported.
func TestUnansweredNotices(t *testing.T) {
	commands := []*eventspb.LeaseCommand{{Id: "1"}, {Id: "2"}, {Id: "2"}}
	result := func(id string) *eventspb.LeaseResult { return &eventspb.LeaseResult{Id: id} }
	noticed(t, "correct", unanswered(commands, []*eventspb.LeaseResult{result("2"), result("1")}), "")
	noticed(t, "repeated results", unanswered(commands, []*eventspb.LeaseResult{result("2"), result("1"), result("1"), result("0")}), "")
	noticed(t, "a result is lost", unanswered(commands, []*eventspb.LeaseResult{result("1"), result("1")}), `id:"2"`)
	noticed(t, "all results are lost", unanswered(commands, nil), `id:"1"`)
}

// TestOverlapsNotices: a resource that two keys use at one time is reported.
func TestOverlapsNotices(t *testing.T) {
	by := func(key string, from, to int64) use {
		return use{resource: "r", key: key, region: "eu", from: time.UnixMilli(from), to: time.UnixMilli(to)}
	}
	for name, c := range map[string]struct {
		uses []use
		bad  bool
	}{
		"one after the other":              {[]use{by("a", 0, 5), by("b", 5, 9), by("a", 9, 12)}, false},
		"one key in two regions":           {[]use{by("a", 0, 5), by("a", 2, 6)}, false},
		"two resources":                    {[]use{by("a", 0, 5), {resource: "s", key: "b", from: time.UnixMilli(1), to: time.UnixMilli(3)}}, false},
		"the second begins too early":      {[]use{by("a", 0, 5), by("b", 4, 9)}, true},
		"at the same time":                 {[]use{by("b", 0, 5), by("a", 0, 5)}, true},
		"recorded later":                   {[]use{by("b", 4, 9), by("a", 0, 5)}, true},
		"within a longer use":              {[]use{by("a", 0, 9), by("b", 4, 5)}, true},
		"after a short use, within a long": {[]use{by("a", 0, 9), by("a", 1, 2), by("b", 4, 5)}, true},
	} {
		if wrong := overlaps(c.uses); (len(wrong) > 0) != c.bad {
			t.Errorf("%s: it reports %q", name, wrong)
		}
	}
}

// TestWinnersNotices: a key with two leases is reported, and so is a superseded row that names
// another region than the one that leases the key.
func TestWinnersNotices(t *testing.T) {
	const now, skew = 10_000, 500
	live := lease.Row{Version: 2, State: lease.Leased, Resource: "r", ResourceVersion: 3, Expires: 90_000}
	ended := live
	ended.Expires = 5_000
	lost := func(winner string) lease.Row {
		return lease.Row{Version: 3, State: lease.Superseded, Resource: "s", ResourceVersion: 3, Expires: 90_000, Winner: winner}
	}
	for name, c := range map[string]struct {
		rows            map[string]lease.Row
		live, contested int
		want            string // empty: correct
	}{
		"one lease":                    {map[string]lease.Row{"eu": live}, 1, 0, ""},
		"no lease":                     {map[string]lease.Row{}, 0, 0, ""},
		"the other lease has ended":    {map[string]lease.Row{"ap": ended, "eu": live}, 1, 0, ""},
		"a superseded duplicate":       {map[string]lease.Row{"eu": live, "us": lost("eu")}, 1, 1, ""},
		"two superseded duplicates":    {map[string]lease.Row{"ap": lost("eu"), "eu": live, "us": lost("eu")}, 1, 2, ""},
		"the winner has ended":         {map[string]lease.Row{"eu": ended, "us": lost("eu")}, 0, 0, ""},
		"two leases":                   {map[string]lease.Row{"ap": live, "us": live}, 2, 0, "key k is leased in [ap us]"},
		"three leases":                 {map[string]lease.Row{"ap": live, "eu": live, "us": live}, 3, 0, "key k is leased in [ap eu us]"},
		"another region is the winner": {map[string]lease.Row{"eu": live, "us": lost("ap")}, 1, 0, "us was superseded by ap, and eu leases it"},
		"each supersedes the other":    {map[string]lease.Row{"eu": lost("us"), "us": lost("eu")}, 0, 0, "which was superseded itself"},
		"it supersedes itself":         {map[string]lease.Row{"us": lost("us")}, 0, 0, "which was superseded itself"},
		"a row without a winner":       {map[string]lease.Row{"eu": live, "us": lost("")}, 1, 0, "us was superseded by , and eu leases it"},
	} {
		n, contested, wrong := winners("k", c.rows, now, skew)
		if noticed(t, name, wrong, c.want); n != c.live || contested != c.contested {
			t.Errorf("%s: %d live leases, %d of them contested, want %d and %d", name, n, contested, c.live, c.contested)
		}
	}
}

// TestResolvedNotices: the time of a duplicate is that of its rows, and a duplicate that remains is
// reported.
func TestResolvedNotices(t *testing.T) {
	record := func(key, state string, at int64) *eventspb.LeaseDuplicate {
		return &eventspb.LeaseDuplicate{Key: key, State: state, ResolvedMs: at, Rows: []*eventspb.LeaseKey{{GrantedMs: 3_000}, {GrantedMs: 1_000}}}
	}
	quiet := func(from, to time.Time) bool { return from.UnixMilli() != 3_000 || to.UnixMilli() != 9_000 }
	for name, c := range map[string]struct {
		records []*eventspb.LeaseDuplicate
		times   []time.Duration
		want    string
	}{
		"none":             {nil, nil, ""},
		"resolved":         {[]*eventspb.LeaseDuplicate{record("k", "observed", 0), record("k", "superseding", 0), record("k", "resolved", 4_000)}, []time.Duration{time.Second}, ""},
		"in a noisy time":  {[]*eventspb.LeaseDuplicate{record("k", "superseding", 0), record("k", "resolved", 9_000)}, nil, ""},
		"never":            {[]*eventspb.LeaseDuplicate{record("l", "resolved", 4_000), record("k", "superseding", 0)}, []time.Duration{time.Second}, `key:"k"`},
		"again, and never": {[]*eventspb.LeaseDuplicate{record("k", "resolved", 4_000), record("k", "superseding", 0)}, []time.Duration{time.Second}, `key:"k"`},
	} {
		times, wrong := resolved(c.records, quiet)
		if noticed(t, name, wrong, c.want); !slices.Equal(times, c.times) {
			t.Errorf("%s: the duplicates took %v, want %v", name, times, c.times)
		}
	}
}
