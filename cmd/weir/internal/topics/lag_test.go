package topics

import (
	"reflect"
	"testing"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// A row has the brokers' lag of its partition, the owner, the standbys, and the rest of a restore.
// If the process does not answer, its state and the rest of the restore are empty.
func TestLagRows(t *testing.T) {
	list := []kafkaadmin.PartitionLag{{Topic: "in", Partition: 0, Lag: 7, Member: "m1", State: "Stable"}, {Topic: "in", Partition: 1, Member: "m2"}, {Topic: "in", Partition: 2}}
	members := []processors.Member{
		{ID: "m1", Instance: "a", Partitions: []int32{0}, Standbys: []int32{1}},
		{ID: "m2", Instance: "b", Partitions: []int32{1}, Standbys: []int32{0, 2}},
		{ID: "m3", Instance: "c", Standbys: []int32{0}},
	}
	tasks := []*weirpb.Partition{
		{Partition: 0, State: "standby", Instance: "b"},
		{Partition: 0, State: "restoring", Instance: "a", Restore: &weirpb.RestoreLeft{Records: 9, EtaMs: 1500}},
		{Partition: 1, State: "stopped", Reason: "why", Instance: "b"},
	}
	got := lagRows(list, members, tasks)
	want := []lagRow{
		{Topic: "in", Partition: 0, Lag: 7, Process: "a", Member: "m1", Group: "Stable", Task: "restoring", Standbys: []string{"b", "c"}, RestoreRecords: 9, RestoreSeconds: 1.5},
		{Topic: "in", Partition: 1, Process: "b", Member: "m2", Task: "stopped", Standbys: []string{"a"}, Reason: "why"},
		{Topic: "in", Partition: 2, Standbys: []string{"b"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}
