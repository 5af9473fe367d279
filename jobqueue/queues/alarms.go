package queues

import (
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
)

// alarmsOutput is the name of the output jobs.alarms.
const alarmsOutput = "alarms"

// sampleEvery is how often rates are updated while a queue has jobs, and alarms about jobs that
// wait are looked for. Outages are seen at once.
const sampleEvery = time.Second

// writeAlarms hands over the news of a queue. Alarms that are not over have rows: a new owner
// reports that they are over, and raises those again whose cause lasts.
func (s *Shard) writeAlarms(q *queue, now int64, ch *stream.Changes) error {
	for _, m := range q.moved {
		m.Active, m.AtMs, m.Text = false, now, "over, because the partition has moved: "+m.GetText()
		if err := s.writeAlarm(q, m, ch); err != nil {
			return err
		}
	}
	q.moved = nil
	for _, a := range q.core.Alarms() {
		m := s.alarmRecord(q.name, &a)
		if n := q.settings.GetPartitions(); n > 1 {
			m.Text = fmt.Sprintf("%s (partition %d, one of %d)", m.GetText(), s.Partition, n)
		}
		if err := s.writeAlarm(q, m, ch); err != nil {
			return err
		}
	}
	return nil
}

func (s *Shard) writeAlarm(q *queue, m *eventspb.JobAlarm, ch *stream.Changes) error {
	value, err := proto.Marshal(m)
	if err != nil {
		return err
	}
	ch.Emit(alarmsOutput, stream.Message{Key: []byte(q.name), Value: value})
	key := NameKey(nil, q.name, m.GetKind()+" "+m.GetSubject())
	if m.GetActive() {
		ch.Count("alarms_"+m.GetKind(), 1)
		s.tables.alarms.Put(ch, key, m)
	} else {
		s.tables.alarms.Delete(ch, key)
	}
	s.alarm(m)
	return nil
}

func (s *Shard) alarmRecord(queue string, a *jobqueue.Alarm) *eventspb.JobAlarm {
	m := &eventspb.JobAlarm{
		Queue: queue, Partition: s.Partition, Kind: a.Kind.String(), Active: a.Active, Subject: a.Subject, Text: a.Text, SinceMs: a.SinceMs,
		AtMs: a.AtMs, Require: a.Require, Slots: int32(a.Slots), Want: int32(a.Want),
	}
	for i := range a.Factors {
		f := &a.Factors[i]
		m.Factors = append(m.Factors, &eventspb.JobFactor{
			Kind: f.Kind.String(), Name: f.Name, Failed: int32(f.Failed), Ended: int32(f.Ended), OtherFailed: int32(f.OtherFailed),
			OtherEnded: int32(f.OtherEnded), Score: f.Score,
		})
	}
	return m
}

// Signals are the signals of a queue in this partition.
type Signals struct {
	jobqueue.Signals
	Target time.Duration // of the wait
	Drain  time.Duration // in which a backlog is to be gone
}

// Signals returns the signals of a queue, with the rates as of the last second. They include
// decisions that have not committed yet.
func (s *Shard) Signals(name string) (Signals, error) {
	q, err := s.queue(name)
	if err != nil {
		return Signals{}, err
	}
	x := Signals{Signals: q.core.Signals(time.Now().UnixMilli())}
	x.Target, x.Drain = q.core.WaitTargets()
	return x, nil
}
