//go:build synctests

package processors_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// TestRecreatedOutput: an administrator deletes an output topic and creates it again, with the same
// number of partitions or another. The processor writes to the new topic without a restart, and
// loses no record that it had not committed.
func TestRecreatedOutput(t *testing.T) {
	for name, partitions := range map[string]int32{"as before": 2, "more partitions": 4, "fewer partitions": 1} {
		t.Run(name, func(t *testing.T) {
			processorstest.Run(t, unchecked(2), func(t *testing.T, h *processorstest.Harness) {
				proc := echoing(stream.OutputTopics("out"), func(ch *stream.Changes, r stream.Record) {
					ch.Emit("out", stream.Message{Key: r.Key, Value: r.Value})
				})
				p := h.StartWith("a", processors.Config{Workers: 1}, proc)
				h.Produce("in", 0, "k", "1", "2", "3")
				h.WaitFor("the records are folded", time.Minute, func() bool { return p.Status(0).Next["in"] == 3 })
				if err := errors.Join(h.Cluster.DeleteTopic("out"), h.Cluster.CreateTopic("out", partitions, nil)); err != nil {
					t.Fatal(err)
				}
				h.Produce("in", 0, "k", "4", "5")
				h.Produce("in", 1, "k", "6")
				h.WaitFor("the rest is folded", time.Minute, func() bool {
					return p.Status(0).Next["in"] == 5 && p.Status(1).Next["in"] == 1
				})
				var got []string
				for _, r := range h.Records("out") {
					got = append(got, string(r.Value))
				}
				slices.Sort(got)
				if !slices.Equal(got, []string{"4", "5", "6"}) {
					t.Errorf("the new topic has %v", got)
				}
				p.Stop()
			})
		})
	}
}
