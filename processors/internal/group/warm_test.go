package group

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/changelogpb"
)

// TestWarm: a process that joins gets partitions at once if it lacks few records, or those of some
// seconds. Otherwise it catches up first.
func TestWarm(t *testing.T) {
	const end, now = int64(1_000_000), int64(1_800_000_000_000)
	for name, c := range map[string]struct {
		lag  int64
		age  time.Duration
		warm bool
	}{
		"all":                            {0, 0, true},
		"an old transaction":             {FewRecords, time.Hour, true},
		"some seconds":                   {AcceptableLag, AcceptableAge, true},
		"a minute":                       {FewRecords + 1, time.Minute, false},
		"some seconds of a bulk load":    {AcceptableLag + 1, time.Second, false},
		"a clock that was behind":        {5000, -time.Hour, true},
		"a member of an earlier version": {5000, time.Duration(now) * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			member := func(instance string, owned []int32, next, writtenMs int64) kmsg.JoinGroupResponseMember {
				s := Assignor{Inputs: []string{"in"}, MemberMetadata: func() *changelogpb.Member {
					m := &changelogpb.Member{Instance: instance, Next: map[int32]int64{}, WrittenMs: map[int32]int64{}}
					for p := range int32(4) {
						m.Next[p], m.WrittenMs[p] = next, writtenMs
					}
					return m
				}}
				m := kmsg.NewJoinGroupResponseMember()
				m.MemberID, m.ProtocolMetadata = instance, s.JoinGroupMetadata([]string{"in"}, map[string][]int32{"in": owned}, 7)
				return m
			}
			var warmups []int32
			s := Assignor{Inputs: []string{"in"}, Partitions: 4, OnAssignment: func(_ []int32, d *changelogpb.WorkerAssignment) {
				warmups = append(warmups, d.GetWarmups()...)
			}}
			b, err := kgo.NewConsumerBalancer(s, []kmsg.JoinGroupResponseMember{
				member("a", []int32{0, 1, 2, 3}, end, now), member("b", nil, end-c.lag, now-c.age.Milliseconds()),
			})
			if err != nil {
				t.Fatal(err)
			}
			plan, err := b.BalanceOrError(nil)
			if err != nil {
				t.Fatal(err)
			}
			kept := 0
			for _, r := range plan.IntoSyncAssignment() {
				m, err := s.ParseSyncAssignment(r.MemberAssignment)
				if err != nil {
					t.Fatal(err)
				}
				if r.MemberID == "a" { // in the first round it releases what moves
					kept = len(m["in"])
				}
			}
			slices.Sort(warmups)
			if c.warm && (kept != 2 || len(warmups) > 0) || !c.warm && (kept != 4 || len(warmups) != 2) {
				t.Errorf("the owner keeps %d partitions, the other one catches up with %v", kept, warmups)
			}
		})
	}
}
