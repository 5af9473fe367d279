package sim

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
)

// Mutation is something wrong with the system on purpose, which the invariants must show: a check that cannot fail is worth
// nothing. The empty one is nothing.
type Mutation string

// Mutations are all that there are. Each is to be found within so many seeds, by one of these invariants.
func Mutations() []MutationCase {
	return []MutationCase{
		{Mutation: "take at any version", Seeds: 10, By: "I7"},
		{Mutation: "renew at any version", Seeds: 5, By: "I7"},
		{Mutation: "release at any version", Seeds: 5, By: "I20"},
		{Mutation: "claim at any version", Seeds: 60, By: "I7r"},
		{Mutation: "reclaim at any version", Seeds: 60, By: "I7r"},
		{Mutation: "liberate at any version", Seeds: 100, By: "I20"},
		{Mutation: "agent uses leases after their deadline", Seeds: 5, By: "I7"},
		{Mutation: "liberator knows no quarantine", Seeds: 3, By: "I20"},
		{Mutation: "executor ignores versions", Seeds: 60, By: "I18 I20 I7 I9"},
		{Mutation: "transfer has no wait", Seeds: 60, By: "I18"},
		{Mutation: "dedup prefers who comes last", Seeds: 60, By: "I8"},
		{Mutation: "balancer forgets what is on its way", Seeds: 60, By: "I10"},
		{Mutation: "aborted commands are seen", Seeds: 40, By: "I6"},
		{Mutation: "bridge drops records", Seeds: 5, By: "I10 liveness"},
		{Mutation: "bridge drops settings", Seeds: 60, By: "I20"},
		{Mutation: "executor never tries again", Seeds: 10, By: "liveness"},
		{Mutation: "executor says done and does nothing", Seeds: 3, By: "results"},
		{Mutation: "executor does not look at the region lease", Seeds: 200, By: "I18"},
		{Mutation: "agent looks at its own region lease only", Seeds: 300, By: "I18", With: longLeases},
		{Mutation: "adoption does not wait", Seeds: 60, By: "I18 I20"},
		{Mutation: "adoption asks nobody", Seeds: 500, By: "I18 I20 I7", With: cutBesideLost},
		{Mutation: "adoption closes one voucher's row", Seeds: 300, By: "I18 I20 I7"},
		{Mutation: "every region vouches for itself", Seeds: 300, By: "I18 I20 I7"},
		{Mutation: "home that is back vouches for itself", Seeds: 100, By: "I18 I20 I7", With: cutWhenBack},
		{Mutation: "what others have said of a lost home is forgotten", Seeds: 1500, By: "I18 I20 I7"},
		{Mutation: "a home that was lost is not fenced off", Seeds: 60, By: "home"},
		{Mutation: "pool has no liberator", Seeds: 3, By: "liveness"},
	}
}

// MutationCase is a mutation, within how many seeds it is to be found, and by which invariants.
type MutationCase struct {
	Mutation Mutation
	Seeds    int
	By       string
	With     func(*Scenario) // nil: with scenarios as they are drawn
}

// Draw is the scenario of a seed for the mutation.
func (w *MutationCase) Draw(seed uint64) *Scenario {
	s := Draw(seed)
	if w.With != nil {
		w.With(s)
	}
	return s
}

// longLeases has leases that go on while a region is adopted, and users that renew them.
func longLeases(s *Scenario) { s.Lease, s.ThinkTime, s.Keys = 20_000, 300, 3 }

// cutBesideLost has a region hear nothing of what one that is lost a moment later gave to a third.
func cutBesideLost(s *Scenario) {
	for _, f := range s.Faults {
		if f.Kind == Adopt && s.Regions > 2 && f.Region > 0 {
			s.Faults = append(s.Faults, Fault{Kind: Evacuate, Region: f.Region, From: f.From - 4000, To: f.From},
				Fault{Kind: CutRegion, Region: 3 - f.Region, From: f.From - 3000, To: f.From + 1000})
		}
	}
}

// cutWhenBack has a home that was lost hear nobody for some time when it is back.
func cutWhenBack(s *Scenario) {
	for _, f := range s.Faults {
		if f.Kind == Adopt && f.Region == 0 {
			s.Faults = append(s.Faults, Fault{Kind: CutRegion, From: f.To - 100, To: f.To + 5000})
		}
	}
}

// mutate makes the mutations of the protocol's rules.
func mutate(wrong Mutation, rules *lease.Rules) {
	for _, r := range rules.All() {
		if wrong == Mutation(r.Name+" at any version") {
			r.When = slices.DeleteFunc(slices.Clone(r.When), func(c lease.Condition) bool { return c.Attr == lease.AttrVersion })
		}
	}
}

// leavesOut says whether a bridge does not hand a record over that it should.
func (b *bridge) leavesOut(s *streamed) bool {
	switch b.w.wrong {
	case "bridge drops records":
		return b.w.isLease(s.id) && b.rng.IntN(4) == 0
	case "bridge drops settings":
		return s.item.settings.version > 1
	}
	return false
}

// lastWins is a dedup that is wrong: the winner depends on the order of arrival.
type lastWins struct {
	output func(region string) (string, bool)
	live   map[string]*eventspb.LeaseKey // by key and region
	out    []*eventspb.LeaseCommand
}

// Fold decides at once.
func (l *lastWins) Fold(b *stream.Batch) error {
	if l.live == nil {
		l.live = map[string]*eventspb.LeaseKey{}
	}
	for i := range b.Records {
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(b.Records[i].Value, c); err != nil {
			return fmt.Errorf("a change: %w", err)
		}
		k := c.GetKey()
		if k == nil {
			continue
		}
		l.live[k.Key+k.Region] = k
		if k.State != string(lease.Leased) {
			continue
		}
		for _, other := range regionNames {
			o := l.live[k.Key+other]
			if o == nil || other == k.Region || o.State != string(lease.Leased) || o.ExpiresMs < k.GrantedMs {
				continue
			}
			l.out = append(l.out, &eventspb.LeaseCommand{
				Id: "last" + k.Key + other + strconv.FormatInt(o.Version, 10), Client: client, Pool: pool, Region: other, By: "dedup",
				Command: &eventspb.LeaseCommand_Supersede{Supersede: &eventspb.LeaseSupersede{
					Key: k.Key, Version: o.Version, Resource: o.Resource, Winner: k.Region,
				}},
			})
		}
	}
	return nil
}

// OnTimer has nothing to do.
func (l *lastWins) OnTimer(int64, []stream.Timer) error { return nil }

// Flush gives the commands.
func (l *lastWins) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, c := range l.out {
		value, err := proto.Marshal(c)
		if err != nil {
			return fmt.Errorf("a command: %w", err)
		}
		if n, ok := l.output(c.Region); ok {
			ch.EmitTo(n, 0, stream.Message{Key: []byte(c.Id), Value: value})
		}
	}
	l.out = nil
	return nil
}
