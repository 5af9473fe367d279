package page

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/jobqueue/jobpb"
)

// jobQueues are three queues, one of them with an alarm, and one whose signals cannot be read.
func jobQueues(name, alarm string) *Jobs {
	now := healthy().Now
	return &Jobs{
		Sampled: Sampled{At: now}, Hidden: 1200, Unread: []int32{3},
		Queues: []Queue{
			{
				Queue: &jobpb.Queue{
					Name: name, Jobs: &jobpb.JobCounts{Pending: 12_345, Running: 40, Done: 1e9, Failed: 77}, Agents: 12, OldestMs: 93_000, Alarms: 1,
				},
				Signals: &jobpb.GetSignalsResponse{
					Classes: []*jobpb.JobClass{
						{Require: []string{"gpu"}, Arrivals: 100.5, Done: 90, Failed: 0.25, Want: 30},
						{Arrivals: 20, Done: 20.1, Want: 4},
					},
					Alarms: []*jobpb.QueueAlarm{{SinceMs: now.Add(-time.Minute).UnixMilli(), Text: alarm}},
				},
			},
			{Queue: &jobpb.Queue{Name: "mail", Paused: true}, Signals: &jobpb.GetSignalsResponse{}},
			{Queue: &jobpb.Queue{Name: "reports", Unread: []int32{3}}},
		},
	}
}

// TestJobs: the overview has the queues with their rates, and their alarms.
func TestJobs(t *testing.T) {
	o := healthy()
	o.Jobs = jobQueues("images", "outage of resource gpu")
	text := section(t, htmlOf(t, o), "jobs")
	for _, want := range []string{
		"<b>images</b>, since 15:14:24: outage of resource gpu", ">12,345<", ">40<", ">121<", ">110<", ">0.2<", ">1 min 33 s<", ">12<", ">34<", ">paused<", ">incomplete<",
		"1,200 more queues", "cannot be read now: 3<", `<td class="text id bad">images`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	for i := range 30 {
		o.Jobs.Queues[0].Signals.Alarms = append(o.Jobs.Queues[0].Signals.Alarms, &jobpb.QueueAlarm{Text: fmt.Sprint("alarm ", i)})
	}
	if text := section(t, htmlOf(t, o), "jobs"); strings.Count(text, "Queue <b>") != maxAlarms || !strings.Contains(text, "11 more alarms") {
		t.Errorf("31 alarms: %s", text)
	}
	for want, j := range map[string]*Jobs{
		"There is no queue yet": {Sampled: Sampled{At: o.Now}}, "The queues are being read": {}, "no owner": {Sampled: Sampled{Err: "no owner"}},
	} {
		o.Jobs = j
		if text := section(t, htmlOf(t, o), "jobs"); !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	o.Jobs = nil
	if strings.Contains(htmlOf(t, o), `id="jobs"`) {
		t.Error("a process without job queues has the section")
	}
}
