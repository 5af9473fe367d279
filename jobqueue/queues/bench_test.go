package queues

import (
	"fmt"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/jobqueue"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// BenchmarkLifeCycle is the life of a job in a shard without brokers and store: its submission, the
// poll that gets it, its completion, and the rows of both transactions. A transaction has 1,000
// jobs.
func BenchmarkLifeCycle(b *testing.B) {
	r := streamtest.New(b, streamtest.Options{Processor: Processor(events.Layout{Shards: 1}, nil)})
	defer func() { r.Handler().(stream.Closer).Close() }()
	ask := func(fn func(s *Shard) error) {
		if err := streamtest.Ask(r, fn); err != nil {
			b.Fatal(err)
		}
	}
	ask(func(s *Shard) error { return s.Set("q", &eventspb.JobQueueSettings{Version: 1}) })
	value, err := proto.Marshal(&eventspb.JobSubmission{Queue: "q", Spec: &eventspb.JobSpec{Require: []string{"gpu"}}, Payload: make([]byte, 100)})
	if err != nil {
		b.Fatal(err)
	}
	const batch = 1000
	records := make([]stream.Record, batch)
	for i := range records {
		records[i].Value = value
	}
	jobs := 0
	for b.Loop() {
		r.AppendTo(events.JobSubmitsTopic, records...)
		p, answer := NewPoll(new(Ticket), "q", jobqueue.Profile{Has: []string{"gpu"}}, jobqueue.Poll{Agent: "a", N: batch, Policy: jobqueue.Greedy})
		r.FoldAll()
		ask(func(s *Shard) error { return s.Poll(p) })
		r.Commit(time.Now().UnixMilli())
		a := <-answer
		ask(func(s *Shard) error {
			for i := range a.Jobs {
				if err := s.Complete(&Attempt{"q", "a", a.Jobs[i].ID, a.Jobs[i].Attempt}, nil); err != nil {
					return err
				}
			}
			return nil
		})
		r.Commit(time.Now().UnixMilli())
		jobs += len(a.Jobs)
	}
	b.ReportMetric(float64(jobs)/b.Elapsed().Seconds(), "jobs/s")
}

// BenchmarkTakeover restores a queue of 100,000 jobs that wait, of 100 signatures.
func BenchmarkTakeover(b *testing.B) {
	const jobs = 100_000
	r := streamtest.New(b, streamtest.Options{Processor: Processor(events.Layout{Shards: 1}, nil)})
	defer func() { r.Handler().(stream.Closer).Close() }()
	if err := streamtest.Ask(r, func(s *Shard) error { return s.Set("q", &eventspb.JobQueueSettings{Version: 1}) }); err != nil {
		b.Fatal(err)
	}
	for i := range jobs {
		value, err := proto.Marshal(&eventspb.JobSubmission{Queue: "q", Spec: &eventspb.JobSpec{Require: []string{fmt.Sprint("r", i%100)}}})
		if err != nil {
			b.Fatal(err)
		}
		r.Append(value)
	}
	r.FoldAll()
	r.Commit(time.Now().UnixMilli())
	tables := map[byte][]row{}
	for _, table := range []byte{TableSettings, TableQueues, TableNames, TableSegments, TableJobs, TableStatus} {
		_ = r.Range(table, nil, nil, func(key, value []byte) error {
			tables[table] = append(tables[table], row{string(key), value})
			return nil
		})
	}
	scan := func(table byte, from, to []byte, fn func(key, value []byte) error) error {
		for _, x := range tables[table] {
			if x.key >= string(from) && (to == nil || x.key < string(to)) {
				if err := fn([]byte(x.key), x.value); err != nil {
					return err
				}
			}
		}
		return nil
	}
	for b.Loop() {
		s := &Shard{Task: stream.Task{Get: r.Get, Range: scan}, tables: newTables(), queues: map[string]*queue{}}
		if err := s.load(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)*jobs/b.Elapsed().Seconds(), "jobs/s")
}

// row is a row of a table.
type row struct {
	key   string
	value []byte
}
