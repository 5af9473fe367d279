package queues

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
)

// specOf returns the specification of a record.
func specOf(m *eventspb.JobSpec) (*jobqueue.Spec, error) {
	if m.GetPriority() >= jobqueue.Priorities {
		return nil, fmt.Errorf("%w priority %d: 0 to %d are possible", jobqueue.ErrInvalid, m.GetPriority(), jobqueue.Priorities-1)
	}
	return &jobqueue.Spec{
		Require: m.GetRequire(), Prefer: m.GetPrefer(), Priority: uint8(m.GetPriority()), NotBefore: m.GetNotBeforeMs(),
		After: idsOf(m.GetAfter()), Key: m.GetKey(), Group: m.GetGroup(),
	}, nil
}

// CheckSpec returns an error if no queue takes a job with the specification. It wraps
// jobqueue.ErrInvalid.
func CheckSpec(m *eventspb.JobSpec) error {
	spec, err := specOf(m)
	if err != nil {
		return err
	}
	return spec.Validate()
}

func idsOf(numbers []uint64) (ids []jobqueue.ID) {
	for _, n := range numbers {
		ids = append(ids, jobqueue.ID(n))
	}
	return ids
}

func numbersOf(ids []jobqueue.ID) (numbers []uint64) {
	for _, id := range ids {
		numbers = append(numbers, uint64(id))
	}
	return numbers
}

func statusRecord(r *jobqueue.JobRow) *eventspb.JobStatus {
	return &eventspb.JobStatus{
		State: eventspb.JobState(r.State), Attempt: uint32(r.Attempt), Spared: uint32(r.Spared), SinceMs: r.Since, UntilMs: r.Until,
		Agent: r.Agent, StartedMs: r.Started, After: numbersOf(r.Spec.After), NotBeforeMs: r.Spec.NotBefore,
	}
}

// jobRow returns the row of a job, but for most of its specification: see setSpec.
func jobRow(id jobqueue.ID, m *eventspb.JobStatus) jobqueue.JobRow {
	return jobqueue.JobRow{
		ID: id, State: jobqueue.State(m.GetState()), Attempt: uint8(m.GetAttempt()), Spared: uint8(m.GetSpared()), Since: m.GetSinceMs(),
		Until: m.GetUntilMs(), Agent: m.GetAgent(), Started: m.GetStartedMs(),
		Spec: jobqueue.Spec{After: idsOf(m.GetAfter()), NotBefore: m.GetNotBeforeMs()},
	}
}

// setSpec sets the specification of the row of a job. The row keeps the jobs for which it waits and
// the time, which are those that are left.
func setSpec(r *jobqueue.JobRow, spec *jobqueue.Spec) {
	if spec.Key != "" {
		r.Hash = jobqueue.Fingerprint(spec)
	}
	after, notBefore := r.Spec.After, r.Spec.NotBefore
	r.Spec = *spec
	r.Spec.After, r.Spec.NotBefore = after, notBefore
}

func segmentRecord(r *jobqueue.SegmentRow) *eventspb.JobSegment {
	return &eventspb.JobSegment{
		BaseMs: r.Base, Closed: r.Closed, Failed: positions(r.Failed), Canceled: positions(r.Canceled), Absent: positions(r.Absent),
	}
}

func segmentRow(first jobqueue.ID, m *eventspb.JobSegment) (r jobqueue.SegmentRow, err error) {
	r = jobqueue.SegmentRow{First: first, Base: m.GetBaseMs(), Closed: m.GetClosed()}
	for _, list := range []struct {
		from []byte
		to   *[]uint16
	}{{m.GetFailed(), &r.Failed}, {m.GetCanceled(), &r.Canceled}, {m.GetAbsent(), &r.Absent}} {
		if len(list.from)%2 != 0 {
			return r, fmt.Errorf("segment at %d: a list of positions has %d bytes", first, len(list.from))
		}
		for i := 0; i < len(list.from); i += 2 {
			*list.to = append(*list.to, binary.LittleEndian.Uint16(list.from[i:]))
		}
	}
	return r, nil
}

func positions(list []uint16) (b []byte) {
	for _, at := range list {
		b = binary.LittleEndian.AppendUint16(b, at)
	}
	return b
}

func agentRecord(r *jobqueue.AgentRow) *eventspb.JobAgent {
	m := &eventspb.JobAgent{Has: r.Profile.Has, Slots: int32(r.Profile.Slots), Learned: r.Learned}
	for _, x := range r.Avoid {
		m.Avoid = append(m.Avoid, &eventspb.JobAvoid{Job: uint64(x.ID), UntilMs: x.Until})
	}
	return m
}

func agentRow(name string, m *eventspb.JobAgent) jobqueue.AgentRow {
	r := jobqueue.AgentRow{Name: name, Profile: jobqueue.Profile{Has: m.GetHas(), Slots: int(m.GetSlots())}, Learned: m.GetLearned()}
	for _, x := range m.GetAvoid() {
		r.Avoid = append(r.Avoid, jobqueue.Avoid{ID: jobqueue.ID(x.GetJob()), Until: x.GetUntilMs()})
	}
	return r
}

// FinalState returns the state of a job of a closed segment.
func FinalState(m *eventspb.JobSegment, id jobqueue.ID) (jobqueue.State, error) {
	r, err := segmentRow(id-id%jobqueue.SegmentSize, m)
	at := uint16(id % jobqueue.SegmentSize)
	for _, list := range []struct {
		positions []uint16
		state     jobqueue.State
	}{{r.Failed, jobqueue.Failed}, {r.Canceled, jobqueue.Canceled}, {r.Absent, jobqueue.None}} {
		if _, found := slices.BinarySearch(list.positions, at); found {
			return list.state, err
		}
	}
	return jobqueue.Done, err
}
