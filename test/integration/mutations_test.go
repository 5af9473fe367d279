package integration

import (
	"context"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/spendcounter"
)

// history is what two owners of partition 0 publish, one after the other.
type history struct {
	row     func(epoch, sequence uint64) *kgo.Record
	marker  func(epoch, sequence uint64, next int64) *kgo.Record
	health  func(epoch, sequence uint64) *kgo.Record
	barrier *kgo.Record
	reset   *kgo.Record // the first row of a state that began again
}

func newHistory(t *testing.T) history {
	t.Helper()
	encode := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	log := events.SpendTopic("local")
	key := append([]byte{spendcounter.TableHealth}, spendcounter.HealthKey("local", 0)...)
	return history{
		row: func(epoch, sequence uint64) *kgo.Record {
			return &kgo.Record{Topic: log, Key: append([]byte{spendcounter.TableSpend}, "k"...), Value: encode(&eventspb.Spend{Incarnation: 1, OwnerEpoch: epoch, Sequence: sequence})}
		},
		marker: func(epoch, sequence uint64, next int64) *kgo.Record {
			m := &changelogpb.Marker{OwnerEpoch: epoch, Sequence: sequence, Inputs: []*changelogpb.Position{{Topic: events.EventsTopic, Next: next}}}
			return &kgo.Record{Topic: log, Key: changelogpb.SystemKey(changelogpb.MarkerKey), Value: encode(m)}
		},
		health: func(epoch, sequence uint64) *kgo.Record {
			return &kgo.Record{Topic: log, Key: key, Value: encode(&eventspb.SpendHistogram{OwnerEpoch: epoch, Sequence: sequence})}
		},
		reset:   &kgo.Record{Topic: log, Key: append([]byte{spendcounter.TableSpend}, "k"...), Value: encode(&eventspb.Spend{Incarnation: 2, OwnerEpoch: 1, Sequence: 1})},
		barrier: &kgo.Record{Topic: log, Key: changelogpb.SystemKey(changelogpb.BarrierKey), Value: encode(&changelogpb.Barrier{Token: "spendcounter-a-0/0/1"})},
	}
}

// TestFollowerNotices: the follower reports each fault of a history, and nothing in a correct one.
func TestFollowerNotices(t *testing.T) {
	h, log := newHistory(t), events.SpendTopic("local")
	for name, tc := range map[string]struct {
		records []*kgo.Record
		want    string // empty: a correct history
	}{
		"correct":                               {[]*kgo.Record{h.barrier, h.row(1, 1), h.health(1, 1), h.marker(1, 1, 5), h.row(1, 2), h.marker(1, 2, 9), h.row(2, 3), h.health(2, 3), h.marker(2, 3, 9)}, ""},
		"a transaction is missing":              {[]*kgo.Record{h.marker(1, 1, 5), h.marker(1, 3, 9)}, "transaction 3 of epoch 1 follows transaction 1"},
		"a transaction is committed twice":      {[]*kgo.Record{h.marker(1, 1, 5), h.marker(1, 1, 5)}, "transaction 1 of epoch 1 follows transaction 1"},
		"a zombie commits":                      {[]*kgo.Record{h.marker(2, 1, 5), h.marker(1, 2, 9)}, "was written after its successor"},
		"the input goes back":                   {[]*kgo.Record{h.marker(1, 1, 5), h.marker(1, 2, 4)}, "from 5 back to 4"},
		"a zombie writes a row":                 {[]*kgo.Record{h.row(2, 1), h.row(1, 2)}, "readers would keep the older"},
		"a state begins again":                  {[]*kgo.Record{h.row(2, 9), h.reset}, ""},
		"a deleted state writes a row":          {[]*kgo.Record{h.reset, h.row(2, 9)}, "readers would keep the older"},
		"an older row follows":                  {[]*kgo.Record{h.row(1, 2), h.row(1, 1)}, "readers would keep the older"},
		"a zombie writes the health":            {[]*kgo.Record{h.health(2, 1), h.marker(2, 1, 5), h.health(1, 2)}, "health 2 of epoch 1 follows 1 of epoch 2"},
		"a health record is published twice":    {[]*kgo.Record{h.health(1, 1), h.marker(1, 1, 5), h.health(1, 1)}, "health 1 of epoch 1 follows 1 of epoch 1"},
		"a shard's health in another's place":   {[]*kgo.Record{{Topic: log, Partition: 1, Key: h.health(1, 1).Key}}, "shard 0"},
		"a row follows the health":              {[]*kgo.Record{h.health(1, 1), h.row(1, 1), h.marker(1, 1, 5)}, "SPEND-32"},
		"a barrier that no runtime has written": {[]*kgo.Record{{Topic: events.SpendTopic("local"), Key: changelogpb.SystemKey(changelogpb.BarrierKey)}}, "unknown form"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &follower{t: t, dc: "local", chains: make([]chain, 24), rows: map[string]*eventspb.Spend{}, health: map[string]*eventspb.SpendHistogram{}}
			topics := map[string][]*kgo.Record{}
			for _, r := range tc.records {
				topics[r.Topic] = append(topics[r.Topic], r)
			}
			for topic, records := range topics {
				f.apply(context.Background(), kgo.Fetches{{Topics: []kgo.FetchTopic{{Topic: topic, Partitions: []kgo.FetchPartition{{Records: records}}}}}})
			}
			got := strings.Join(f.bad, "\n")
			if tc.want == "" && got != "" || tc.want != "" && (len(f.bad) != 1 || !strings.Contains(got, tc.want)) {
				t.Errorf("it reports %q, want one report with %q", got, tc.want)
			}
		})
	}
}
