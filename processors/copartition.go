package processors

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// copartition is a balancer that keeps a task whole: it plans the first input alone and gives partition p of every input
// to the same member. The client's own balancers plan each topic-partition by itself, and with several inputs two members
// would each get a part of one task.
type copartition struct {
	kgo.GroupBalancer
	inputs []string
	// planned learns the member's whole assignment at each synchronisation of the group: the callbacks alone do not
	// tell, because the session passes on only the first of several revokes between two transactions.
	planned func(partitions []int32)
}

// MemberBalancer implements kgo.GroupBalancer.
func (c copartition) MemberBalancer(members []kmsg.JoinGroupResponseMember) (kgo.GroupMemberBalancer, map[string]struct{}, error) {
	b, err := kgo.NewConsumerBalancer(c, members)
	if err != nil {
		return nil, nil, fmt.Errorf("plan the group: %w", err)
	}
	return b, b.MemberTopics(), nil
}

// ParseSyncAssignment implements kgo.GroupBalancer.
func (c copartition) ParseSyncAssignment(assignment []byte) (map[string][]int32, error) {
	m, err := c.GroupBalancer.ParseSyncAssignment(assignment)
	if err == nil {
		c.planned(partitionsOf(m))
	}
	return m, err
}

// Balance implements kgo.ConsumerBalancerBalance.
func (c copartition) Balance(b *kgo.ConsumerBalancer, topics map[string]int32) kgo.IntoSyncAssignment {
	first := c.inputs[0]
	b.EachMember(func(_ *kmsg.JoinGroupResponseMember, meta *kmsg.ConsumerMemberMetadata) {
		meta.Topics = []string{first}
		owned := meta.OwnedPartitions[:0]
		for _, o := range meta.OwnedPartitions {
			if o.Topic == first {
				owned = append(owned, o)
			}
		}
		meta.OwnedPartitions = owned
	})
	inner, ok := c.GroupBalancer.(kgo.ConsumerBalancerBalance)
	if !ok {
		return nil // all of the client's consumer balancers are
	}
	return spread{inner.Balance(b, map[string]int32{first: topics[first]}), c.inputs}
}

// spread gives the partitions that a plan has for the first input to every input.
type spread struct {
	plan   kgo.IntoSyncAssignment
	inputs []string
}

// IntoSyncAssignment implements kgo.IntoSyncAssignment.
func (s spread) IntoSyncAssignment() []kmsg.SyncGroupRequestGroupAssignment {
	out := s.plan.IntoSyncAssignment()
	for i := range out {
		m, err := kgo.ParseConsumerSyncAssignment(out[i].MemberAssignment)
		if err != nil {
			continue // it was made a line above
		}
		var a kmsg.ConsumerMemberAssignment
		for _, topic := range s.inputs {
			t := kmsg.NewConsumerMemberAssignmentTopic()
			t.Topic, t.Partitions = topic, m[s.inputs[0]]
			a.Topics = append(a.Topics, t)
		}
		out[i].MemberAssignment = a.AppendTo(nil)
	}
	return out
}
