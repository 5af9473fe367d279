package stream_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/streamtest"
)

// The tables of a jobQueue.
const (
	pendingTable = 1 // by offset: the job
	startedTable = 2 // by offset: the worker that has it
)

// jobQueue hands the records of its partition to workers, each to one. A worker polls. Its poll is
// parked until there is a job for it, and answered when the pick is committed.
type jobQueue struct {
	stream.Task
	pending []job
	parked  []*poll
	picked  []*poll // in the open transaction
	added   []job   // in the open transaction
	backlog atomic.Pointer[int]
}

type job struct {
	id   uint64
	text string
}

// poll is a question of a worker. answer gets its job, and is closed without one if the worker has
// to poll again, with the owner of the partition.
type poll struct {
	worker string
	answer chan string
	job    job
}

func newJobQueue(t stream.Task) (stream.Handler, error) {
	q := &jobQueue{Task: t}
	err := t.Scan(pendingTable, nil, func(key, value []byte) error {
		q.pending = append(q.pending, job{binary.BigEndian.Uint64(key), string(value)})
		return nil
	})
	q.publish()
	return q, err
}

// Poll takes the question of a worker. It runs in processors.Ask.
func (q *jobQueue) Poll(p *poll) {
	q.parked = append(q.parked, p)
	q.pick()
}

// Forget removes the poll of a worker that waits no longer. It runs in processors.Ask. A pick that
// was made is not undone: the job has its worker.
func (q *jobQueue) Forget(p *poll) {
	q.parked = slices.DeleteFunc(q.parked, func(x *poll) bool { return x == p })
}

// Backlog is the number of jobs that wait, as committed. Any goroutine may call it.
func (q *jobQueue) Backlog() int { return *q.backlog.Load() }

func (q *jobQueue) publish() {
	n := len(q.pending)
	q.backlog.Store(&n)
}

func (q *jobQueue) pick() {
	for len(q.parked) > 0 && len(q.pending) > 0 {
		p := q.parked[0]
		p.job = q.pending[0]
		q.picked, q.parked, q.pending = append(q.picked, p), q.parked[1:], q.pending[1:]
		q.Wake() // the worker waits for the commit
	}
}

// Fold implements stream.Handler.
func (q *jobQueue) Fold(b *stream.Batch) error {
	for i := range b.Records {
		j := job{uint64(b.Records[i].Offset), string(b.Records[i].Value)}
		q.pending, q.added = append(q.pending, j), append(q.added, j)
	}
	q.pick()
	return nil
}

// Flush implements stream.Handler.
func (q *jobQueue) Flush(_ stream.Commit, ch *stream.Changes) error {
	for _, j := range q.added {
		ch.Put(pendingTable, binary.BigEndian.AppendUint64(nil, j.id), []byte(j.text))
	}
	for _, p := range q.picked {
		key := binary.BigEndian.AppendUint64(nil, p.job.id)
		ch.Delete(pendingTable, key)
		ch.Put(startedTable, key, []byte(p.worker))
	}
	q.added = nil
	return nil
}

// Committed implements stream.CommitListener: the picks are durable, so the workers get their jobs.
func (q *jobQueue) Committed(uint64) {
	for _, p := range q.picked {
		p.answer <- p.job.text
	}
	q.picked = nil
	q.publish()
}

// Close implements stream.Closer: the workers poll again.
func (q *jobQueue) Close() {
	for _, p := range slices.Concat(q.picked, q.parked) {
		close(p.answer)
	}
}

// A job queue whose poll is parked, and answered after the commit of its pick. A program asks with
// processors.Ask, and reads the view with processors.HandlerOf.
func ExampleCommitListener() {
	r := streamtest.New(new(testing.T), streamtest.Options{Processor: stream.Processor{New: newJobQueue}})
	ask := func(worker string) *poll {
		p := &poll{worker: worker, answer: make(chan string, 1)}
		_ = streamtest.Ask(r, func(q *jobQueue) error { q.Poll(p); return nil })
		return p
	}
	show := func(p *poll) {
		select {
		case text, ok := <-p.answer:
			fmt.Printf("%s: %q %t\n", p.worker, text, ok)
		default:
			fmt.Printf("%s waits\n", p.worker)
		}
	}

	ann := ask("ann")
	show(ann)
	r.Append([]byte("resize"), []byte("encode"))
	r.FoldAll()
	fmt.Println("commit soon:", r.Woken())
	show(ann) // the pick is not committed yet
	r.Commit(1)
	show(ann)
	fmt.Println("backlog:", r.Handler().(*jobQueue).Backlog())

	bob := ask("bob")
	r.Abort(2) // the pick is lost, and so bob gets no job
	show(bob)
	bob = ask("bob")
	r.Commit(3)
	show(bob)
	// Output:
	// ann waits
	// commit soon: true
	// ann waits
	// ann: "resize" true
	// backlog: 1
	// bob: "" false
	// bob: "encode" true
}
