package api

import (
	"context"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/queues"
)

// jobs reads jobs of one partition from the committed state of this process.
func (s *jobService) jobs(ctx context.Context, queue string, ids []JobID) ([]*jobpb.Job, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var keys []RowKey
	for _, id := range ids {
		key := queues.NumberKey(nil, queue, id.Number)
		keys = append(keys, RowKey{queues.TableStatus, key}, RowKey{queues.TableJobs, key}, RowKey{queues.TableResults, key})
	}
	rows, err := s.source.Rows(ctx, ids[0].Partition, keys)
	if err != nil {
		return nil, err
	}
	list := make([]*jobpb.Job, len(ids))
	var ended []int // without rows
	// Of the running jobs; nil: no progress is known now.
	shown := sync.OnceValue(func() *queues.Shown {
		shown, err := s.source.Shown(ids[0].Partition)
		if err != nil {
			return nil
		}
		return shown
	})
	for i, id := range ids {
		list[i] = &jobpb.Job{Id: id.String(), State: jobqueue.None.String()}
		if status, stored, result := rows[3*i], rows[3*i+1], rows[3*i+2]; status == nil {
			ended = append(ended, i)
		} else if err := readJob(list[i], id, status, stored, result); err != nil {
			return nil, err
		}
		if list[i].GetState() == jobqueue.Running.String() {
			if shown := shown(); shown != nil {
				list[i].Progress = shown.Progress(queue, id.Number, uint8(list[i].GetAttempt()))
			}
		}
	}
	return list, s.ended(ctx, queue, chosen(list, ended), chosen(ids, ended))
}

// readJob sets what the rows of a job have.
func readJob(out *jobpb.Job, id JobID, rows ...[]byte) error {
	status, stored, result := &eventspb.JobStatus{}, &eventspb.StoredJob{}, &eventspb.JobResult{}
	for i, m := range []proto.Message{status, stored, result} {
		if err := proto.Unmarshal(rows[i], m); err != nil {
			return err
		}
	}
	spec := stored.GetSpec()
	out.State = jobqueue.State(status.GetState()).String()
	out.Attempt, out.Agent = status.GetAttempt(), status.GetAgent()
	out.Tries = status.GetAttempt() - min(status.GetAttempt(), status.GetSpared())
	out.SinceMs, out.UntilMs = status.GetSinceMs(), status.GetUntilMs()
	for _, n := range status.GetAfter() {
		out.After = append(out.After, JobID{id.Partition, jobqueue.ID(n)}.String())
	}
	out.Result, out.Error, out.EndedMs = result.GetResult(), result.GetError(), result.GetEndedMs()
	if out.GetAgent() == "" {
		out.Agent = result.GetAgent()
	}
	out.SubmittedMs, out.Require, out.Prefer = stored.GetSubmittedMs(), spec.GetRequire(), spec.GetPrefer()
	out.Priority, out.Key, out.Group = spec.GetPriority(), spec.GetKey(), spec.GetGroup()
	return nil
}

// ended sets the states of jobs without rows: they are evicted, were refused, or do not exist.
func (s *jobService) ended(ctx context.Context, queue string, list []*jobpb.Job, ids []JobID) error {
	if len(ids) == 0 {
		return nil
	}
	var keys []RowKey
	for _, id := range ids {
		keys = append(keys, RowKey{queues.TableRefusals, queues.NumberKey(nil, queue, id.Number)},
			RowKey{queues.TableSegments, queues.NumberKey(nil, queue, id.Number-id.Number%jobqueue.SegmentSize)})
	}
	rows, err := s.source.Rows(ctx, ids[0].Partition, keys)
	if err != nil {
		return err
	}
	for i, id := range ids {
		if err := readEnded(list[i], id, rows[2*i], rows[2*i+1]); err != nil {
			return err
		}
	}
	return nil
}

// readEnded sets the state of a job without rows of its own.
func readEnded(out *jobpb.Job, id JobID, refused, closed []byte) error {
	if refused != nil {
		m := &eventspb.JobRefusal{}
		if err := proto.Unmarshal(refused, m); err != nil {
			return err
		}
		out.State, out.Reason, out.Error, out.EndedMs = "refused", m.GetReason(), m.GetDetail(), m.GetAtMs()
		if m.GetReason() == queues.RefusedDuplicate {
			out.First = JobID{id.Partition, jobqueue.ID(m.GetFirst())}.String()
		}
		return nil
	}
	m := &eventspb.JobSegment{}
	if err := proto.Unmarshal(closed, m); err != nil || !m.GetClosed() {
		return err
	}
	state, err := queues.FinalState(m, id.Number)
	if out.State = state.String(); state != jobqueue.None {
		out.Evicted = true
	}
	return err
}
