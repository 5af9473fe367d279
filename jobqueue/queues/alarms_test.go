package queues

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/events/eventspb"
)

// news returns the records of jobs.alarms since the last call.
func (r *run) news() []*eventspb.JobAlarm {
	r.t.Helper()
	list, records := taken[eventspb.JobAlarm](r, alarmsOutput)
	for i, m := range list {
		if string(records[i].Key) != m.GetQueue() {
			r.t.Errorf("the key of an alarm of queue %q is %q", m.GetQueue(), records[i].Key)
		}
	}
	return list
}

// TestAlarms: the commit after the failures of a resource has a record that names it, and that
// after successes one that it is over. Jobs that no agent can run raise an alarm after some
// seconds, without any request.
func TestAlarms(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1, MaxAttempts: 1, AvoidMs: -1}, func(r *run) {
		work := func(n int, broken bool) {
			for range n {
				r.submit(job("", "gpu"), job("", "cpu"))
				for _, j := range r.poll("a", 2, "gpu", "cpu") {
					a := &Attempt{"q", "a", j.ID, j.Attempt}
					r.ask(func(s *Shard) error {
						if broken && j.GetSpec().GetRequire()[0] == "gpu" {
							return s.Fail(a, "no device", false)
						}
						return s.Complete(a, nil)
					})
				}
				r.commit()
			}
		}
		work(100, false)
		if list := r.news(); len(list) != 0 {
			t.Errorf("without failures: %v", list)
		}
		work(20, true)
		list := r.news()
		if len(list) != 1 || !list[0].GetActive() || list[0].GetQueue() != "q" || list[0].GetKind() != "outage" || list[0].GetSubject() != "resource gpu" ||
			list[0].GetSinceMs() == 0 || len(list[0].GetFactors()) == 0 || list[0].GetFactors()[0].GetName() != "gpu" {
			t.Fatalf("when gpu fails: %v", list)
		}
		var x Signals
		r.ask(func(s *Shard) (err error) { x, err = s.Signals("q"); return err })
		if len(x.Alarms) != 1 || len(x.Classes) != 2 || x.Target != time.Minute {
			t.Errorf("signals: %+v", x)
		}
		work(60, false)
		if list := r.news(); len(list) != 1 || list[0].GetActive() || !strings.HasPrefix(list[0].GetText(), "over: ") {
			t.Errorf("when gpu works again: %v", list)
		}
		r.submit(job("", "tpu"))
		r.commit()
		for range 15 {
			<-time.After(time.Second)
			if r.Woken() {
				r.commit()
			}
		}
		if list := r.news(); len(list) != 1 || list[0].GetKind() != "unserved" || list[0].GetRequire()[0] != "tpu" {
			t.Errorf("jobs without an agent: %v", list)
		}
	})
}

// TestAlarmsMove: a new owner of a partition reports that the alarms of the owner before are over,
// and raises those again whose cause lasts.
func TestAlarmsMove(t *testing.T) {
	inBubble(t, &eventspb.JobQueueSettings{Version: 1, Partitions: 2}, func(r *run) {
		wait := func() {
			for range 15 {
				r.sleep(time.Second)
			}
		}
		r.submit(job("", "tpu"))
		wait()
		if list := r.news(); len(list) != 1 || !list[0].GetActive() || !strings.HasSuffix(list[0].GetText(), "(partition 0, one of 2)") {
			t.Fatalf("jobs without an agent: %v", list)
		}
		r.Abort(time.Now().UnixMilli()) // the handler is made from the committed state
		r.commit()
		if list := r.news(); len(list) != 1 || list[0].GetActive() || list[0].GetKind() != "unserved" || list[0].GetSinceMs() == 0 {
			t.Errorf("after the partition has moved: %v", list)
		}
		wait()
		if list := r.news(); len(list) != 1 || !list[0].GetActive() {
			t.Errorf("while the cause lasts: %v", list)
		}
		if n := len(r.Table(TableAlarms)); n != 1 {
			t.Errorf("%d rows of alarms", n)
		}
	})
}
