package group

import (
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/weirhq/weir/processors/changelogpb"
	"google.golang.org/protobuf/proto"
)

// Assignor is the assignor of the group. It assigns partition p of all inputs to one member,
// because they are one task; the client's own assignors plan each topic by itself. And it considers
// the stores of the members: a partition is assigned to an instance where it is warm.
type Assignor struct {
	Inputs     []string
	Partitions int32 // of the processor; further partitions of the inputs are not assigned
	Standbys   int
	// MemberMetadata returns what this process publishes to the group when it joins.
	MemberMetadata func() *changelogpb.Member
	// OnAssignment receives the member's whole assignment at each synchronisation of the group. The
	// callbacks of the client are not enough, because the session reports only the first of several
	// revocations between two transactions.
	OnAssignment func(partitions []int32, d *changelogpb.WorkerAssignment)
}

// ProtocolName implements kgo.GroupBalancer.
func (Assignor) ProtocolName() string { return "weir" }

// IsCooperative implements kgo.GroupBalancer.
func (Assignor) IsCooperative() bool { return true }

// JoinGroupMetadata implements kgo.GroupBalancer.
func (s Assignor) JoinGroupMetadata(interests []string, current map[string][]int32, generation int32) []byte {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics, meta.Generation = 3, interests, generation
	for _, topic := range interests {
		if ps := current[topic]; len(ps) > 0 {
			owned := kmsg.NewConsumerMemberMetadataOwnedPartition()
			owned.Topic, owned.Partitions = topic, ps
			meta.OwnedPartitions = append(meta.OwnedPartitions, owned)
		}
	}
	meta.UserData = userData(s.MemberMetadata())
	return meta.AppendTo(nil)
}

// userData encodes m deterministically: the brokers rebalance the group when the bytes differ.
func userData(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil // impossible: m holds numbers and valid names
	}
	return b
}

// ParseSyncAssignment implements kgo.GroupBalancer.
func (s Assignor) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	m, err := kgo.ParseConsumerSyncAssignment(assignment)
	if err != nil {
		return nil, err
	}
	var a kmsg.ConsumerMemberAssignment
	if err := a.ReadFrom(assignment); err != nil {
		return nil, fmt.Errorf("decode the group assignment: %w", err)
	}
	d, err := changelogpb.Decode(a.UserData, &changelogpb.WorkerAssignment{}, "the worker assignment")
	if err != nil {
		return nil, err
	}
	s.OnAssignment(Partitions(m), d)
	return m, nil
}

// MemberBalancer implements kgo.GroupBalancer.
func (s Assignor) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	b, err := kgo.NewConsumerBalancer(s, members)
	if err != nil {
		return nil, nil, fmt.Errorf("read the members of the group: %w", err)
	}
	return b, b.MemberTopics(), nil
}

// Balance implements kgo.ConsumerBalancerBalance.
func (s Assignor) Balance(b *kgo.ConsumerBalancer, _ map[string]int32) kgo.IntoSyncAssignment {
	var members []Member
	var pins []*changelogpb.Pin
	b.EachMember(func(member *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		data, err := changelogpb.Decode(meta.UserData, &changelogpb.Member{}, "the metadata of a member")
		if err != nil || data.Instance == "" {
			data = &changelogpb.Member{Instance: member.MemberID}
		}
		m := Member{ID: member.MemberID, Instance: data.Instance, Next: data.Next, WrittenMs: data.WrittenMs, Generation: meta.Generation}
		for _, o := range meta.OwnedPartitions {
			if o.Topic == s.Inputs[0] {
				m.Owned = o.Partitions
			}
		}
		members, pins = append(members, m), append(pins, data.Pins...)
	})
	c := PlanConfig{
		Partitions: s.Partitions, Standbys: s.Standbys, AcceptableLag: AcceptableLag, FewRecords: FewRecords, AcceptableAge: AcceptableAge,
		Pins: pinsInForce(pins, time.Now()),
	}
	return syncAssignment{MakePlan(c, members), members, s.Inputs}
}

// pinsInForce returns the instances of the latest pins of partitions, without those that have
// ended.
func pinsInForce(pins []*changelogpb.Pin, now time.Time) map[int32]string {
	latest, to := map[int32]*changelogpb.Pin{}, map[int32]string{}
	for _, p := range pins {
		if b := latest[p.Partition]; b == nil || p.AtMs > b.AtMs || p.AtMs == b.AtMs && p.Instance > b.Instance {
			latest[p.Partition] = p
		}
	}
	for partition, p := range latest {
		if p.UntilMs > now.UnixMilli() {
			to[partition] = p.Instance
		}
	}
	return to
}

// syncAssignment assigns the partitions of the plan for every input.
type syncAssignment struct {
	plan    Assignment
	members []Member
	inputs  []string
}

// IntoSyncAssignment implements kgo.IntoSyncAssignment.
func (s syncAssignment) IntoSyncAssignment() []kmsg.SyncGroupRequestGroupAssignment {
	inputs := slices.Sorted(slices.Values(s.inputs))
	out := make([]kmsg.SyncGroupRequestGroupAssignment, 0, len(s.members))
	for _, m := range s.members {
		var a kmsg.ConsumerMemberAssignment
		for _, topic := range inputs {
			t := kmsg.NewConsumerMemberAssignmentTopic()
			t.Topic, t.Partitions = topic, s.plan.Active[m.ID]
			a.Topics = append(a.Topics, t)
		}
		d := s.plan.StandbyTasks[m.ID]
		a.UserData = userData(
			&changelogpb.WorkerAssignment{
				Standbys: d.Standbys, Warmups: d.Warmups, Incomplete: s.plan.Incomplete, Processes: int32(s.plan.Instances),
			})
		r := kmsg.NewSyncGroupRequestGroupAssignment()
		r.MemberID, r.MemberAssignment = m.ID, a.AppendTo(nil)
		out = append(out, r)
	}
	return out
}

// Partitions returns the partition numbers of an assignment, each once, in order.
func Partitions(m map[string][]int32) []int32 {
	var ps []int32
	for _, list := range m {
		ps = append(ps, list...)
	}
	slices.Sort(ps)
	return slices.Compact(ps)
}
