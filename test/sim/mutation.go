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

// Mutation is an injected bug. The checkers must report each mutation, which proves that they work.
// The empty mutation injects nothing.
type Mutation string

// Mutations returns all mutations. Each must be found within its number of seeds, by each of its
// invariants.
func Mutations() []MutationCase {
	return []MutationCase{
		{Mutation: "take at any version", Seeds: 10, By: "LEASE-1"},
		{Mutation: "renew at any version", Seeds: 5, By: "LEASE-1"},
		{Mutation: "release at any version", Seeds: 5, By: "LEASE-8"},
		{Mutation: "claim at any version", Seeds: 60, By: "LEASE-2"},
		{Mutation: "reclaim at any version", Seeds: 60, By: "LEASE-2"},
		{Mutation: "liberate at any version", Seeds: 100, By: "LEASE-8"},
		{Mutation: "agent uses leases after their deadline", Seeds: 5, By: "LEASE-1 LEASE-5"},
		{Mutation: "liberator ignores the quarantine", Seeds: 3, By: "LEASE-8"},
		{Mutation: "release keeps the holder", Seeds: 10, By: "LEASE-4 LEASE-65"},
		{Mutation: "liberate offers nothing", Seeds: 10, By: "LEASE-4"},
		{Mutation: "executor ignores versions", Seeds: 60, By: "LEASE-1 LEASE-8"},
		{Mutation: "transfer has no wait", Seeds: 60, By: "LEASE-6"},
		{Mutation: "dedup prefers the last lease", Seeds: 60, By: "LEASE-3"},
		{Mutation: "balancer forgets transfers", Seeds: 60, By: "LEASE-40"},
		{Mutation: "aborted commands are delivered", Seeds: 40, By: "LEASE-62"},
		{Mutation: "bridge drops records", Seeds: 5, By: "LEASE-36 LEASE-63"},
		{Mutation: "bridge drops settings", Seeds: 60, By: "LEASE-8 LEASE-66"},
		{Mutation: "executor does not retry", Seeds: 10, By: "LEASE-63"},
		{Mutation: "executor reports success without a write", Seeds: 3, By: "LEASE-64"},
		{Mutation: "executor ignores the write lease", Seeds: 200, By: "LEASE-6"},
		{Mutation: "agent checks its own region's write lease only", Seeds: 300, By: "LEASE-6", With: longLeases},
		{Mutation: "adoption does not wait", Seeds: 60, By: "LEASE-6"},
		{Mutation: "adoption does not ask other regions", Seeds: 500, By: "LEASE-6", With: cutBesideLost},
		{Mutation: "adoption closes one grantor's row only", Seeds: 300, By: "LEASE-6"},
		{Mutation: "every region renews its own write lease", Seeds: 300, By: "LEASE-6"},
		{Mutation: "returned home renews its own write lease", Seeds: 100, By: "LEASE-6", With: cutWhenBack},
		{Mutation: "adoption forgets a lost home's write leases", Seeds: 1500, By: "LEASE-1 LEASE-6 LEASE-8"},
		{Mutation: "lost home is not fenced", Seeds: 60, By: "LEASE-55"},
		{Mutation: "pool has no liberator", Seeds: 3, By: "LEASE-63"},
	}
}

// MutationCase is a mutation with the number of seeds within which it must be found, and the
// numbers of the invariants, with blanks between them.
type MutationCase struct {
	Mutation Mutation
	Seeds    int
	By       string
	With     func(*Scenario) // changes each scenario; nil for none
}

// Draw returns the scenario of a seed for the mutation.
func (w *MutationCase) Draw(seed uint64) *Scenario {
	s := Draw(seed)
	if w.With != nil {
		w.With(s)
	}
	return s
}

// longLeases adds leases that outlast an adoption, and users that renew them.
func longLeases(s *Scenario) { s.Lease, s.ThinkTime, s.Keys = 20_000, 300, 3 }

// cutBesideLost cuts off one region while the region that is about to be lost transfers resources
// to a third one.
func cutBesideLost(s *Scenario) {
	for _, f := range s.Faults {
		if f.Kind == Adopt && s.Regions > 2 && f.Region > 0 {
			s.Faults = append(s.Faults, Fault{Kind: Evacuate, Region: f.Region, From: f.From - 4000, To: f.From},
				Fault{Kind: CutRegion, Region: 3 - f.Region, From: f.From - 3000, To: f.From + 1000})
		}
	}
}

// cutWhenBack cuts the returned home region off for some time.
func cutWhenBack(s *Scenario) {
	for _, f := range s.Faults {
		if f.Kind == Adopt && f.Region == 0 {
			s.Faults = append(s.Faults, Fault{Kind: CutRegion, From: f.To - 100, To: f.To + 5000})
		}
	}
}

// mutate applies the mutations of the protocol's rules.
func mutate(mutation Mutation, rules *lease.Rules) {
	for _, r := range rules.All() {
		if mutation == Mutation(r.Name+" at any version") {
			r.When = slices.DeleteFunc(slices.Clone(r.When), func(c lease.Condition) bool { return c.Attr == lease.AttrVersion })
		}
	}
	switch mutation {
	case "release keeps the holder": // a row that is available and leased
		rules.Release.Remove = nil
	case "liberate offers nothing": // a row that is neither
		rules.Liberate.Set = nil
	}
}

// dropsRecord reports whether a mutated bridge drops a record.
func (b *bridge) dropsRecord(s *streamed) bool {
	switch b.w.mutation {
	case "bridge drops records":
		return b.w.isLease(s.id) && b.rng.IntN(4) == 0
	case "bridge drops settings":
		return s.item.settings.version > 1
	}
	return false
}

// lastWins is a faulty dedup: the winner depends on the order of arrival.
type lastWins struct {
	output func(region string) (string, bool)
	live   map[string]*eventspb.LeaseKey // by key and region
	out    []*eventspb.LeaseCommand
}

// Fold decides each duplicate when its record arrives.
func (l *lastWins) Fold(b *stream.Batch) error {
	if l.live == nil {
		l.live = map[string]*eventspb.LeaseKey{}
	}
	for i := range b.Records {
		c := &eventspb.LeaseChange{}
		if err := proto.Unmarshal(b.Records[i].Value, c); err != nil {
			return fmt.Errorf("decode a change: %w", err)
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

// OnTimer does nothing.
func (l *lastWins) OnTimer(int64, []stream.Timer) error { return nil }

// Flush emits the commands.
func (l *lastWins) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, c := range l.out {
		value, err := proto.Marshal(c)
		if err != nil {
			return fmt.Errorf("encode a command: %w", err)
		}
		if n, ok := l.output(c.Region); ok {
			ch.EmitTo(n, 0, stream.Message{Key: []byte(c.Id), Value: value})
		}
	}
	l.out = nil
	return nil
}
