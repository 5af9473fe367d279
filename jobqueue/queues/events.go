package queues

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
)

// eventsOutput is the name of the output jobs.events.
const eventsOutput = "events"

// writeEvents hands over the decisions of the open transaction, if the queue has events. A setting
// of this transaction holds from the next one on. It is called before write, which forgets the
// reports of the transaction.
func (s *Shard) writeEvents(q *queue, ch *stream.Changes) error {
	if on := q.settings.GetEvents(); on != q.events {
		defer q.journal(on)
	}
	if !q.events {
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(q.refusals)) {
		r := q.refusals[id]
		err := s.writeEvent(q, ch, &eventspb.JobEvent{
			Kind: eventspb.JobEventKind_JOB_EVENT_KIND_REFUSED, Job: s.idOf(id), AtMs: r.GetAtMs(), Reason: r.GetReason(),
			Error: r.GetDetail(),
		})
		if err != nil {
			return err
		}
	}
	for _, d := range q.core.Decisions() {
		m := s.eventOf(&d)
		if d.Kind == jobqueue.Submitted {
			m.Spec = q.submittedSpec(d.ID)
		}
		if r := q.results[d.ID]; r.GetAttempt() == uint32(d.Attempt) && (d.Kind == jobqueue.Completed || m.GetReason() == reported) {
			m.Result, m.Error = r.GetResult(), r.GetError()
		}
		if err := s.writeEvent(q, ch, m); err != nil {
			return err
		}
	}
	return nil
}

// submittedSpec returns the specification of a job that the open transaction has submitted.
func (q *queue) submittedSpec(id jobqueue.ID) *eventspb.JobSpec {
	i, ok := slices.BinarySearchFunc(q.submitted, id, func(x submission, id jobqueue.ID) int { return cmp.Compare(x.id, id) })
	if !ok {
		return nil
	}
	return q.submitted[i].job.GetSpec()
}

// reported is the reason of an attempt that ended by a report of its agent.
const reported = "reported"

// reasonName returns the reason of an event.
func reasonName(r jobqueue.Reason) string {
	return [...]string{
		jobqueue.Reported: reported, jobqueue.Expired: "expired", jobqueue.AgentLost: "agent_lost", jobqueue.Pullback: "pullback",
	}[r]
}

// eventOf returns the event of a decision, without what only the requests have.
func (s *Shard) eventOf(d *jobqueue.Decision) *eventspb.JobEvent {
	m := &eventspb.JobEvent{Kind: kindOf(d.Kind), AtMs: d.At, Attempt: uint32(d.Attempt), Agent: d.Agent, UntilMs: d.Until}
	switch d.Kind {
	case jobqueue.AgentUp:
		m.Has, m.Slots = d.Profile.Has, int32(d.Profile.Slots)
	case jobqueue.AgentDown, jobqueue.Paused, jobqueue.Resumed:
	case jobqueue.Evicted:
		m.EvictedBelow = uint64(d.ID)
	case jobqueue.Retried, jobqueue.Exhausted, jobqueue.Returned:
		m.Reason = reasonName(d.Reason)
		m.Job = s.idOf(d.ID)
	default:
		m.Job = s.idOf(d.ID)
	}
	return m
}

// kindOf returns the kind of the event of a decision.
func kindOf(k jobqueue.Kind) eventspb.JobEventKind {
	return [...]eventspb.JobEventKind{
		jobqueue.Submitted:  eventspb.JobEventKind_JOB_EVENT_KIND_SUBMITTED,
		jobqueue.Started:    eventspb.JobEventKind_JOB_EVENT_KIND_STARTED,
		jobqueue.Completed:  eventspb.JobEventKind_JOB_EVENT_KIND_DONE,
		jobqueue.Retried:    eventspb.JobEventKind_JOB_EVENT_KIND_RETRYING,
		jobqueue.Exhausted:  eventspb.JobEventKind_JOB_EVENT_KIND_FAILED,
		jobqueue.Returned:   eventspb.JobEventKind_JOB_EVENT_KIND_RETURNED,
		jobqueue.CanceledBy: eventspb.JobEventKind_JOB_EVENT_KIND_CANCELED,
		jobqueue.Redone:     eventspb.JobEventKind_JOB_EVENT_KIND_REDONE,
		jobqueue.BecameDue:  eventspb.JobEventKind_JOB_EVENT_KIND_DUE,
		jobqueue.AgentUp:    eventspb.JobEventKind_JOB_EVENT_KIND_AGENT_UP,
		jobqueue.AgentDown:  eventspb.JobEventKind_JOB_EVENT_KIND_AGENT_DOWN,
		jobqueue.Paused:     eventspb.JobEventKind_JOB_EVENT_KIND_PAUSED,
		jobqueue.Resumed:    eventspb.JobEventKind_JOB_EVENT_KIND_RESUMED,
		jobqueue.Evicted:    eventspb.JobEventKind_JOB_EVENT_KIND_EVICTED,
	}[k]
}

// idOf returns the id of a job.
func (s *Shard) idOf(number jobqueue.ID) string { return fmt.Sprintf("%d-%d", s.Partition, number) }

func (s *Shard) writeEvent(q *queue, ch *stream.Changes, m *eventspb.JobEvent) error {
	m.Queue, m.Partition = q.name, s.Partition
	value, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	ch.EmitTo(eventsOutput, s.Partition, stream.Message{Key: []byte(m.GetJob()), Value: value, TimeMs: m.GetAtMs()})
	return nil
}
