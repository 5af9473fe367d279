package sim

import (
	"fmt"
	"slices"
	"strconv"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/lease"
	"github.com/weirhq/weir/internal/stream"
)

// Mutation is something wrong with the system on purpose, which the invariants must show: a check that cannot fail is worth
// nothing. The empty one is nothing.
type Mutation string

// Mutations are all that there are. Each is to be found within so many seeds, by one of these invariants.
func Mutations() []Wrong {
	return []Wrong{
		{"take at any version", 10, "I7"},
		{"renew at any version", 5, "I7"},
		{"release at any version", 5, "I20"},
		{"claim at any version", 60, "I7r"},
		{"reclaim at any version", 60, "I7r"},
		{"liberate at any version", 100, "I20"},
		{"agent uses leases after their deadline", 5, "I7"},
		{"liberator knows no quarantine", 3, "I20"},
		{"executor ignores versions", 60, "I18 I20 I7 I9"},
		{"transfer has no wait", 60, "I18"},
		{"dedup prefers who comes last", 60, "I8"},
		{"balancer forgets what is on its way", 60, "I10"},
		{"aborted commands are seen", 40, "I6"},
		{"bridge drops records", 5, "I10 liveness"},
		{"bridge drops settings", 60, "I20"},
		{"executor never tries again", 10, "liveness"},
		{"executor says done and does nothing", 3, "results"},
		{"executor does not look at the region lease", 200, "I18"},
		{"agent looks at its own region lease only", 300, "I18"},
		{"adoption does not wait", 60, "I18 I20"},
		{"pool has no liberator", 3, "liveness"},
	}
}

// Wrong is a mutation, within how many seeds it is to be found, and by which invariants.
type Wrong struct {
	Mutation Mutation
	Seeds    int
	By       string
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
		return b.w.isLease(s.id) && b.dice.IntN(4) == 0
	case "bridge drops settings":
		return s.item.settings.version > 1
	}
	return false
}

// lastWins is a dedup that is wrong: the winner depends on the order of arrival.
type lastWins struct {
	output func(region string) (int, bool)
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

// Fire has nothing to do.
func (l *lastWins) Fire(int64, []stream.Timer) error { return nil }

// Flush gives the commands.
func (l *lastWins) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, c := range l.out {
		value, err := proto.Marshal(c)
		if err != nil {
			return fmt.Errorf("a command: %w", err)
		}
		if n, ok := l.output(c.Region); ok {
			ch.Emit(n, 0, []byte(c.Id), value)
		}
	}
	l.out = nil
	return nil
}
