package admin

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// TestHistoryFromChanges: changes in any order, and repeated, give the same history. Missing
// changes are not invented.
func TestHistoryFromChanges(t *testing.T) {
	const s = 1_700_000_000_000
	resource := func(at, version int64, owner, key string, available int64) *eventspb.LeaseChange {
		r := &eventspb.LeaseResource{Resource: "r", Version: version, Owner: owner, AvailableMs: available}
		if key != "" {
			r.Holder, r.ExpiresMs = lease.Holder("p", key), s+60_000
		}
		return &eventspb.LeaseChange{Region: owner, Client: "c", Pool: "p", AtMs: s + at, Row: &eventspb.LeaseChange_Resource{Resource: r}}
	}
	key := func(at, version int64, region string, state lease.State) *eventspb.LeaseChange {
		return &eventspb.LeaseChange{Region: region, Client: "c", Pool: "p", AtMs: s + at, Row: &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{
			Key: "k", Region: region, Version: version, State: string(state), Resource: "r", ExpiresMs: s + 60_000, Winner: "us",
		}}}
	}
	gone := resource(8000, 8, "us", "", 0)
	gone.Gone = true
	list := []*eventspb.LeaseChange{
		resource(0, 1, "eu", "", s), resource(1000, 2, "eu", "k", 0), resource(2000, 3, "eu", "k", 0), resource(3000, 4, "eu", "", s+70_000),
		resource(4000, 5, "us", "", s+80_000), resource(7000, 7, "us", "", s+90_000), gone,
		key(900, 1, "eu", lease.Pending), key(1100, 2, "eu", lease.Leased), key(3100, 3, "eu", lease.Superseded),
	}
	want := []string{
		"r: registered", "key: wants r", "r: leased to key k of pool p", "key: has r", "r: renewed", "r: released", "key: its lease of r was superseded by that of us",
		"r: moved from eu to us", "r: available from", "r: left pool p",
	}
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		all := slices.Clone(list)
		for _, c := range list {
			if rng.IntN(2) == 0 { // repeated by a scan
				again := proto.Clone(c).(*eventspb.LeaseChange) //nolint:forcetypeassert // it is one
				again.Scanned, again.AtMs = true, c.AtMs+100_000
				all = append(all, again)
			}
		}
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		var events []string
		for _, e := range HistoryFromChanges(all) {
			events = append(events, e.Row+": "+e.Description)
		}
		if !slices.EqualFunc(events, want, func(a, b string) bool { return strings.HasPrefix(a, b) && !strings.Contains(a, "found by") }) {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, strings.Join(events, "\n"), strings.Join(want, "\n"))
		}
	}
	only := resource(0, 9, "us", "", s)
	only.Scanned = true
	if got := HistoryFromChanges([]*eventspb.LeaseChange{only}); len(got) != 1 || !strings.HasPrefix(got[0].Description, "available from ") || !strings.HasSuffix(got[0].Description, "(found by a scan)") {
		t.Errorf("of a row that only a scan found: %s", fmt.Sprint(got))
	}
}
