//go:build synctests

package processors_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
)

// TestAddedPartitions: an administrator adds partitions to the input and to the dead-letter topic,
// while a process runs and before it starts again. The processor works on with its own number of
// partitions, also with a second process.
func TestAddedPartitions(t *testing.T) {
	var log lockedBuffer
	logger := zerolog.New(&log).Level(zerolog.WarnLevel)
	o := unchecked(4)
	o.Config.Log = &logger
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		proc := ledger.Processor("in")
		proc.Partitions = 4
		four := func(what string, p *processorstest.Process, n int) {
			t.Helper()
			h.WaitFor(what, time.Minute, func() bool {
				running := 0
				for _, s := range p.Runtime().Status() {
					if s.Partition >= 4 {
						t.Fatalf("partition %d is %s: %s", s.Partition, s.State, s.Reason)
					}
					if s.State == processors.StateRunning {
						running++
					}
				}
				return running == n
			})
		}
		a := h.StartWith("a", processors.Config{Workers: 1}, proc)
		four("the process runs", a, 4)
		adm := kadm.NewClient(h.Client())
		for topic, n := range map[string]int{"in": 6, ledger.App + ".dlq": 5, proc.Changelog: 7} {
			got, err := adm.UpdatePartitions(context.Background(), n, topic)
			if err = errors.Join(err, got[topic].Err); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Minute) // the client has read the metadata again
		if log.count("partitions_ignored") > 0 {
			t.Error("partitions are ignored that were not there at the start")
		}
		b := h.StartWith("b", processors.Config{Workers: 1}, proc)
		four("the second process has its half", b, 2)
		four("the first process has its half", a, 2)
		for topic, has := range map[string]int{"in": 6, ledger.App + ".dlq": 5, proc.Changelog: 7} {
			line := fmt.Sprintf(`{"level":"error","process":"b","app":"ledger","topic":%q,"has":%d,"needs":4,"message":"partitions_ignored"}`, topic, has)
			if n := log.count(line); n != 1 {
				t.Errorf("%d times in the log: %s", n, line)
			}
		}
		a.Stop()
		b.Stop()

		a = h.StartWith("a", processors.Config{Workers: 1}, proc)
		four("the process runs again", a, 4)
		cl := h.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()))
		for p := range int32(6) {
			if err := cl.ProduceSync(context.Background(), &kgo.Record{Topic: "in", Partition: p, Key: []byte("k"), Value: fmt.Append(nil, p)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		h.WaitFor("the records are folded", time.Minute, func() bool { return a.Status(3).Next["in"] == 1 && a.Status(0).Next["in"] == 1 })
		a.Stop()
		if n := len(h.Records("out")); n != 4 {
			t.Errorf("%d outputs of 4 records in the first partitions", n)
		}

		// The configuration has the new number, too. The state still has the former one.
		for _, topic := range []string{"in", ledger.App + ".dlq", proc.Changelog} {
			got, err := adm.UpdatePartitions(context.Background(), 8, topic)
			if err = errors.Join(err, got[topic].Err); err != nil {
				t.Fatal(err)
			}
		}
		for _, configured := range []int32{8, 0} {
			proc.Partitions = configured
			c := h.StartWith("a", processors.Config{Workers: 1}, proc)
			if err := c.Await(); !errors.Is(err, processors.ErrTopics) || !strings.Contains(err.Error(), "the state has 4 partitions") || !strings.Contains(err.Error(), "to 4") {
				t.Errorf("with %d partitions: %v", configured, err)
			}
		}
		proc.Partitions = 4
		a = h.StartWith("a", processors.Config{Workers: 1}, proc)
		four("the process runs with the number of the state", a, 4)
		a.Stop()
	})
}

// TestStartWhileABrokerIsAway: a process of a later generation starts while a broker has just died,
// and its partitions have no other leader yet. It waits, as one of the first generation does.
func TestStartWhileABrokerIsAway(t *testing.T) {
	processorstest.Run(t, unchecked(6), func(t *testing.T, h *processorstest.Harness) {
		proc := ledger.Processor("in")
		for p := range int32(6) {
			h.Produce("in", p, "k", "1")
		}
		a := h.StartWith("a", processors.Config{}, proc)
		h.WaitFor("each partition has state", time.Minute, func() bool {
			list := a.Runtime().Status()
			return len(list) == 6 && !slices.ContainsFunc(list, func(s processors.Status) bool { return s.Sequence == 0 })
		})
		a.Stop()
		if err := h.Cluster.CreateTopic("log.g1", 6, nil); err != nil {
			t.Fatal(err)
		}
		h.Produce("log.g1", 0, "k", "1")
		h.RefuseConnections(h.Cluster.ListenAddrs()[0])
		a = h.StartWith("a", processors.Config{FormerChangelogs: []string{"log.g1"}}, proc)
		time.Sleep(9 * time.Second)
		if a.Ended() {
			t.Fatalf("the process ended: %v", a.Await())
		}
		h.RefuseConnections("")
		h.WaitFor("the process runs", time.Minute, func() bool {
			list := a.Runtime().Status()
			return len(list) == 6 && !slices.ContainsFunc(list, func(s processors.Status) bool { return s.State != processors.StateRunning })
		})
		a.Stop()
	})
}

// TestStateNotMoved: an application does not begin at zero beside a former one that has state.
func TestStateNotMoved(t *testing.T) {
	processorstest.Run(t, unchecked(4), func(t *testing.T, h *processorstest.Harness) {
		proc := ledger.Processor("in")
		cfg := processors.Config{Workers: 1, FormerChangelogs: []string{"log.g2", "log.g1"}}
		start := func() error {
			p := h.StartWith("a", cfg, proc)
			h.WaitFor("it begins or ends", time.Minute, func() bool { return p.Ended() || p.Status(0).State == processors.StateRunning })
			if p.Ended() {
				return p.Await()
			}
			p.Stop()
			return nil
		}
		if err := h.Cluster.CreateTopic("log.g1", 2, nil); err != nil {
			t.Fatal(err)
		}
		h.Produce("log.g1", 1, "k", "1")
		if err := start(); !errors.Is(err, processors.ErrNotMoved) || !strings.Contains(err.Error(), "log.g1") {
			t.Errorf("beside a former changelog with a record: %v", err)
		}
		if n := len(h.Records(proc.Changelog)); n != 0 {
			t.Errorf("%d records were written", n)
		}
		h.Produce(proc.Changelog, 2, "moved", "1")
		if err := start(); !errors.Is(err, processors.ErrPartlyMoved) {
			t.Errorf("with a changelog that has no state: %v", err)
		}
		if _, err := kadm.NewClient(h.Client()).DeleteTopics(context.Background(), "log.g1"); err != nil {
			t.Fatal(err)
		}
		if err := start(); err != nil {
			t.Errorf("without a former changelog: %v", err)
		}
	})
}
