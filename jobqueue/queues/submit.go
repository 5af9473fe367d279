package queues

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
)

// MaxPayload is the maximum size of a payload, in bytes. A larger one is stored in another system,
// and the payload is a reference.
const MaxPayload = 4 << 10

// Reasons for which a record of jobs.submits is a dead letter.
const (
	ReasonUndecodable  = stream.ReasonUndecodable // not an eventspb.JobSubmission
	ReasonUnknownQueue = "unknown_queue"          // the partition does not have the queue
)

// Codes of eventspb.JobRefusal.
const (
	RefusedInvalid   = "invalid"           // the specification
	RefusedPayload   = "payload_too_large" // more than MaxPayload
	RefusedFull      = "queue_full"        // the queue has its maximum of jobs that have not ended
	RefusedAfter     = "unknown_after"     // a job that it waits for does not exist, or has ended without success and is evicted
	RefusedKeyReused = "key_reused"        // the idempotency key is that of another job
	RefusedOrder     = "order"             // the number is not greater than those before: the topic began again
	RefusedDuplicate = "duplicate"         // the job with the same key is JobRefusal.first
)

// Fold implements stream.Handler: it submits the jobs of records.
func (s *Shard) Fold(b *stream.Batch) error {
	now := time.Now().UnixMilli()
	var touched []*queue
	for i := range b.Records {
		r := &b.Records[i]
		m := &eventspb.JobSubmission{}
		if err := proto.Unmarshal(r.Value, m); err != nil || r.Value == nil {
			b.Reject(i, ReasonUndecodable, fmt.Sprintf("not a JobSubmission: %v", err))
			continue
		}
		q := s.queues[m.GetQueue()]
		if q == nil {
			b.Reject(i, ReasonUnknownQueue, fmt.Sprintf("partition %d has no queue %q: create it, or submit to one of its partitions",
				s.Partition, m.GetQueue()))
			continue
		}
		id := jobqueue.ID(r.Offset)
		if refusal := q.submit(now, id, m, r.TimeMs); refusal != nil {
			refusal.AtMs = now
			q.refusals[id], q.refused = refusal, true
			continue
		}
		if !slices.Contains(touched, q) {
			touched = append(touched, q)
		}
	}
	for _, q := range touched {
		s.wakeAt(s.serve(q, now))
	}
	return nil
}

// submit submits a job, and returns why it is refused.
func (q *queue) submit(now int64, id jobqueue.ID, m *eventspb.JobSubmission, submittedMs int64) *eventspb.JobRefusal {
	if n := len(m.GetPayload()); n > MaxPayload {
		return &eventspb.JobRefusal{Reason: RefusedPayload, Detail: fmt.Sprintf(
			"the payload has %d bytes, and the maximum is %d: store it in another system, and submit a reference", n, MaxPayload)}
	}
	if most := q.maxJobs(); q.live() >= most {
		return &eventspb.JobRefusal{Reason: RefusedFull, Detail: fmt.Sprintf(
			"the queue has %d jobs that have not ended, its maximum: submit again later", most)}
	}
	spec, err := specOf(m.GetSpec())
	if err != nil {
		return refusal(err)
	}
	d, err := q.core.Submit(now, id, spec)
	switch {
	case err != nil:
		return refusal(err)
	case d.Kind == jobqueue.Nothing:
		return &eventspb.JobRefusal{Reason: RefusedDuplicate, First: uint64(d.ID), Detail: fmt.Sprintf(
			"job %d has the same idempotency key", d.ID)}
	}
	q.submitted = append(q.submitted, submission{
		id: id, job: &eventspb.StoredJob{Spec: m.GetSpec(), SubmittedMs: submittedMs}, payload: m.GetPayload(),
	})
	return nil
}

// refusal returns the refusal of an error of the core.
func refusal(err error) *eventspb.JobRefusal {
	m := &eventspb.JobRefusal{Reason: RefusedInvalid, Detail: err.Error()}
	switch {
	case errors.Is(err, jobqueue.ErrUnknown), errors.Is(err, jobqueue.ErrEvicted):
		m.Reason = RefusedAfter
	case errors.Is(err, jobqueue.ErrKeyReused):
		m.Reason = RefusedKeyReused
	case errors.Is(err, jobqueue.ErrOrder):
		m.Reason = RefusedOrder
	}
	return m
}
