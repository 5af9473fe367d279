package metrics

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/queues"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// TestJobQueues: the gauges are those of what has committed.
func TestJobQueues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := streamtest.New(t, streamtest.Options{Processor: queues.Processor(events.Layout{Shards: 8}, nil), Partition: 3})
		ask := func(fn func(s *queues.Shard) error) {
			t.Helper()
			if err := streamtest.Ask(r, fn); err != nil {
				t.Fatal(err)
			}
		}
		var shard *queues.Shard
		ask(func(s *queues.Shard) error { shard = s; return nil })
		defer r.Handler().(stream.Closer).Close()
		registry := obs.NewRegistry("test")
		registry.MustRegister(NewJobQueues(func() []*queues.Shown { return []*queues.Shown{shard.Shown()} }))
		name := ""
		for n := 0; name == ""; n++ { // a queue of this partition
			if x := string(rune('a' + n)); events.QueuePartitions(x, 1, 8)[0] == 3 {
				name = x
			}
		}
		ask(func(s *queues.Shard) error {
			return s.Set(name, &eventspb.JobQueueSettings{Version: 1, Partitions: 1, WaitTargetMs: 1000})
		})
		r.Commit(time.Now().UnixMilli())
		for _, require := range []string{"gpu", "gpu", "cpu"} {
			value, err := proto.Marshal(&eventspb.JobSubmission{Queue: name, Spec: &eventspb.JobSpec{Require: []string{require}}})
			if err != nil {
				t.Fatal(err)
			}
			r.Append(value)
		}
		r.FoldAll()
		poll, _ := queues.NewPoll(new(queues.Ticket), name, jobqueue.Profile{Has: []string{"gpu"}}, jobqueue.Poll{Agent: "a", N: 1, Policy: jobqueue.Greedy})
		ask(func(s *queues.Shard) error { return s.Poll(poll) })
		of := func(metric string, more ...string) string {
			labels := append([]string{"partition=3", "queue=" + name}, more...)
			slices.Sort(labels)
			return "weir_jobqueue_" + metric + "{" + strings.Join(labels, " ") + "}"
		}
		if got := series(t, registry)[of("jobs", "state=pending")]; got != 0 {
			t.Errorf("%g jobs are pending before the commit", got)
		}
		for range 20 { // an alarm is raised after ten seconds
			r.Commit(time.Now().UnixMilli())
			<-time.After(time.Second)
		}
		r.Commit(time.Now().UnixMilli())
		all := series(t, registry)
		for key, want := range map[string]float64{
			of("jobs", "state=pending"): 2, of("jobs", "state=running"): 1, of("jobs", "state=done"): 0, of("agents"): 1,
			of("oldest_wait_seconds"): 20, of("wanted_slots"): 2, of("alarms", "kind=late"): 1, of("alarms", "kind=unserved"): 1,
			of("alarms", "kind=outage"): 0,
		} {
			if got, ok := all[key]; !ok || got != want {
				t.Errorf("%s is %g (%v), want %g", key, got, ok, want)
			}
		}
		if t.Failed() {
			t.Log(all)
		}
	})
}
