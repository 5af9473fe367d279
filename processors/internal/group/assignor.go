package group

import (
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/weirhq/weir/processors/changelogpb"
	"google.golang.org/protobuf/proto"
)

// Assignor is the group's balancer. It keeps a task whole, partition p of every input at one member, where the client's own
// balancers plan each topic by itself. And it knows what the members' stores hold: a partition goes to where it is warm.
type Assignor struct {
	Inputs   []string
	Standbys int
	// MemberMetadata is what this process tells the group when it joins.
	MemberMetadata func() *changelogpb.Member
	// OnAssignment learns the member's whole assignment at each synchronisation of the group: the callbacks alone do not
	// tell, because the session passes on only the first of several revokes between two transactions.
	OnAssignment func(partitions []int32, d *changelogpb.WorkerAssignment)
}

// AcceptableLag is how many changelog records a store may be behind the best one and count as warm: well under a second of
// reading.
const AcceptableLag = 100_000

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

// userData encodes m the same way each time: the brokers take other bytes for a reason to rebalance.
func userData(m proto.Message) []byte {
	b, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil // it is made of numbers and valid names
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
		return nil, fmt.Errorf("read the group's plan: %w", err)
	}
	d, err := changelogpb.Decode(a.UserData, &changelogpb.WorkerAssignment{}, "the duty in the group's plan")
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
		return nil, nil, fmt.Errorf("plan the group: %w", err)
	}
	return b, b.MemberTopics(), nil
}

// Balance implements kgo.ConsumerBalancerBalance.
func (s Assignor) Balance(b *kgo.ConsumerBalancer, topics map[string]int32) kgo.IntoSyncAssignment {
	var members []Member
	b.EachMember(func(member *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		says, err := changelogpb.Decode(meta.UserData, &changelogpb.Member{}, "what a member says")
		if err != nil || says.Instance == "" {
			says = &changelogpb.Member{Instance: member.MemberID}
		}
		m := Member{ID: member.MemberID, Instance: says.Instance, Next: says.Next, Generation: meta.Generation}
		for _, o := range meta.OwnedPartitions {
			if o.Topic == s.Inputs[0] {
				m.Owned = o.Partitions
			}
		}
		members = append(members, m)
	})
	c := PlanConfig{Partitions: topics[s.Inputs[0]], Standbys: s.Standbys, AcceptableLag: AcceptableLag}
	return syncAssignment{MakePlan(c, members), members, s.Inputs}
}

// syncAssignment is a plan for the first input that every input follows.
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
		a.UserData = userData(&changelogpb.WorkerAssignment{Standbys: d.Standbys, Warmups: d.Warmups})
		r := kmsg.NewSyncGroupRequestGroupAssignment()
		r.MemberID, r.MemberAssignment = m.ID, a.AppendTo(nil)
		out = append(out, r)
	}
	return out
}

// Partitions are the partition numbers of an assignment, each once, in order.
func Partitions(m map[string][]int32) []int32 {
	var ps []int32
	for _, list := range m {
		ps = append(ps, list...)
	}
	slices.Sort(ps)
	return slices.Compact(ps)
}
