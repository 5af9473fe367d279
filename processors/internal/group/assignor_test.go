package group

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weirhq/weir/processors/changelogpb"
)

// joining returns a member of the group that joins with a version of the user data.
func joining(id string, userData []byte) kmsg.JoinGroupResponseMember {
	meta := kmsg.NewConsumerMemberMetadata()
	meta.Version, meta.Topics, meta.UserData = 3, []string{"in"}, userData
	m := kmsg.NewJoinGroupResponseMember()
	m.MemberID, m.ProtocolMetadata = id, meta.AppendTo(nil)
	return m
}

// newer appends a field that this version does not know.
func newer(b []byte) []byte {
	return protowire.AppendString(protowire.AppendTag(b, 1000, protowire.BytesType), "new")
}

// TestVersions: members with the user data of a former and of a later version are in one group.
// Each is assigned its share of the partitions.
func TestVersions(t *testing.T) {
	type assignment struct {
		partitions []int32
		processes  int32
	}
	var got assignment
	s := Assignor{Inputs: []string{"in"}, Partitions: 6, OnAssignment: func(ps []int32, d *changelogpb.WorkerAssignment) {
		got = assignment{ps, d.GetProcesses()}
	}}
	member := func(instance string) []byte { return userData(&changelogpb.Member{Instance: instance}) }
	b, err := kgo.NewConsumerBalancer(s, []kmsg.JoinGroupResponseMember{
		joining("a-0", member("a")), joining("a-1", member("a")), joining("a-2", member("a")),
		joining("b-0", newer(member("b"))),
		joining("c-0", nil), // the group protocol alone
	})
	if err != nil {
		t.Fatal(err)
	}
	plan, err := b.BalanceOrError(nil)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]assignment{"a-0": {[]int32{2}, 3}, "a-1": {[]int32{3}, 3}, "a-2": {nil, 3}, "b-0": {[]int32{0, 4}, 3}, "c-0": {[]int32{1, 5}, 3}}
	for _, r := range plan.IntoSyncAssignment() {
		if _, err := s.ParseSyncAssignment(r.MemberAssignment); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(got) != fmt.Sprint(want[r.MemberID]) {
			t.Errorf("%s: %v, want %v", r.MemberID, got, want[r.MemberID])
		}
	}
	for name, c := range map[string]struct {
		userData  []byte
		processes int32
	}{
		"of a former leader": {userData(&changelogpb.WorkerAssignment{Standbys: []int32{1}}), 0},
		"of a later leader":  {newer(userData(&changelogpb.WorkerAssignment{Processes: 2})), 2},
		"without user data":  {nil, 0},
	} {
		a := kmsg.ConsumerMemberAssignment{Topics: []kmsg.ConsumerMemberAssignmentTopic{{Topic: "in", Partitions: []int32{1}}}, UserData: c.userData}
		if _, err := s.ParseSyncAssignment(a.AppendTo(nil)); err != nil || got.processes != c.processes {
			t.Errorf("assignment %s: %v, %v", name, got, err)
		}
	}
}
