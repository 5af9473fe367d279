package logreader

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

const (
	pollWait    = 100 * time.Millisecond
	pollRecords = 20_000
	// stoppedPause is the time until a partition is looked at again that the client cannot read.
	stoppedPause = 10 * time.Second
)

// errAgain ends a session that has to begin again with a new client: a client does not read a
// partition twice.
var errAgain = errors.New("the client is made again")

// session reads with one client until ctx ends. It returns nil when it has to begin again at once,
// and otherwise the error of the brokers.
func (r *Reader) session(ctx context.Context) error {
	plain, err := r.cfg.Kafka.Client()
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer plain.Close()
	adm := kadm.NewClient(plain)
	select { // this question includes what was opened before
	case <-r.opened:
	default:
	}
	first, err := r.ask(ctx, adm)
	if err != nil {
		return err
	}
	r.heard(nil)
	actx, cancel := context.WithCancel(ctx)
	answers := make(chan answer, 1)
	answers <- first
	var asking sync.WaitGroup
	asking.Go(func() { r.keepAsking(actx, plain, answers) })
	s := &session{r: r, used: map[id]bool{}}
	defer func() {
		cancel()
		asking.Wait()
		s.checks.Wait()
		s.end()
	}()
	for ctx.Err() == nil {
		select {
		case a := <-answers:
			if err := s.plan(a); errors.Is(err, errAgain) {
				return nil
			} else if err != nil {
				return err
			}
		default:
		}
		s.adjust()
		s.poll(ctx)
	}
	return nil
}

type session struct {
	r    *Reader
	used map[id]bool // partitions that the client reads or has read
	wake kafka.Wake
	// checks ask the brokers about failed fetches. They do not hold up the other partitions.
	checks sync.WaitGroup
}

// end closes the client.
func (s *session) end() {
	s.r.mu.Lock()
	cl := s.r.cl
	s.r.cl, s.r.removed = nil, nil
	for _, p := range s.r.parts {
		p.active = false
	}
	s.r.mu.Unlock()
	if cl != nil {
		cl.Close()
	}
}

// plan takes an answer of the brokers: it begins to read partitions, and stops reading those of a
// topic that is gone.
func (s *session) plan(a answer) error {
	begin, err := s.choose(a)
	if err != nil || len(begin) == 0 {
		return err
	}
	return s.read(begin)
}

// choose returns the partitions that the client has to begin to read. They are active from now on.
func (s *session) choose(a answer) (begin map[string]map[int32]kgo.Offset, err error) {
	r := s.r
	r.mu.Lock()
	defer r.mu.Unlock()
	begin = map[string]map[int32]kgo.Offset{}
	for at, p := range r.parts {
		t, asked := a.logs[at.topic]
		if !asked {
			continue
		}
		if !s.look(p, t, a.at) || !p.active && !p.whole(t.Partitions[at.n], a.ends) {
			p.deactivate()
			continue
		}
		if p.active {
			if !p.failing && p.stopped == nil {
				p.reason = ""
			}
			if e := a.skip[at]; e.to > 0 && p.at.Next == e.from && len(p.queue) == 0 {
				// The epoch of the last record is not that of the batches behind it.
				p.at.Next, p.at.Epoch = e.to, -1
				p.taken.Next, p.taken.Epoch = e.to, -1
			}
			continue
		}
		if time.Now().Before(p.retryAt) {
			continue
		}
		if s.used[at] {
			return nil, errAgain
		}
		s.used[at] = true
		p.active, p.full, p.failing, p.failed = true, false, false, kafka.FailedFetch{AwaitRight: true}
		if p.wait(""); begin[at.topic] == nil {
			begin[at.topic] = map[int32]kgo.Offset{}
		}
		begin[at.topic][at.n] = kgo.NewOffset().At(p.at.Next).WithEpoch(p.at.Epoch)
	}
	return begin, nil
}

// look takes what the brokers report about a partition when they were asked at a time, and returns
// whether it can be read. The mutex is held.
func (s *session) look(p *Partition, t kafka.TopicLog, asked time.Time) bool {
	b, known := t.Partitions[p.n]
	switch {
	case errors.Is(t.Err, kerr.UnknownTopicOrPartition):
		p.wait(fmt.Sprintf("topic %s does not exist: it is read when it has been created", p.topic))
		return false
	case t.Err != nil:
		p.wait(t.Err.Error())
		return p.active // the topic was not described this time
	case p.at.Topic != TopicID{} && p.at.Topic != TopicID(t.ID):
		p.halt(&RecreatedError{p.topic, p.n, p.at.Topic, TopicID(t.ID)})
		return false
	case s.r.cfg.Partitions > 0 && len(t.Partitions) != s.r.cfg.Partitions:
		p.halt(&PartitionsError{p.topic, len(t.Partitions), s.r.cfg.Partitions})
		return false
	case !known:
		p.wait(fmt.Sprintf("topic %s has %d partitions, and none with number %d", p.topic, len(t.Partitions), p.n))
		return false
	case b.Err != nil:
		if !p.active {
			p.wait(b.Err.Error())
		}
		return p.active
	}
	p.end, p.endAt = b.End, asked
	switch {
	case p.active: // the client notices the rest
	case p.at.Next < 0:
		p.at.Next, p.at.Epoch = b.Start, -1
	case b.Start > p.at.Next:
		p.halt(
			&kafka.UnreadableError{
				Topic: p.topic, Partition: p.n, Offset: p.at.Next, Lost: b.Start - p.at.Next, Resume: b.Start, Err: kerr.OffsetOutOfRange,
			})
		return false
	}
	p.at.Topic = TopicID(t.ID)
	if p.taken.Next < 0 {
		p.taken = p.at
	}
	p.taken.Topic = TopicID(t.ID)
	return true
}

// read begins to read partitions. The client may wait, so the mutex is not held.
func (s *session) read(begin map[string]map[int32]kgo.Offset) error {
	s.r.mu.Lock()
	cl := s.r.cl // no other goroutine sets it
	s.r.mu.Unlock()
	if cl != nil {
		cl.AddConsumePartitions(begin)
		return nil
	}
	cl, err := s.r.cfg.Kafka.Client(
		kgo.ConsumePartitions(begin), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxBytes(s.r.cfg.FetchBytes), kgo.FetchMaxPartitionBytes(int32(s.r.cfg.QueueBytes)),
		kgo.FetchMaxWait(500*time.Millisecond),
	)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	s.r.mu.Lock()
	s.r.cl = cl
	s.r.mu.Unlock()
	return nil
}

// adjust removes partitions from the client, and sets it back to where fetches are to be tried
// again. The client may wait, so the mutex is not held.
func (s *session) adjust() {
	r := s.r
	r.mu.Lock()
	cl, removed := r.cl, map[string][]int32{}
	for _, at := range r.removed {
		removed[at.topic] = append(removed[at.topic], at.n)
	}
	r.removed = nil
	var again []*Partition
	var positions []kafka.Position
	for _, p := range r.parts {
		if p.active && p.failing && !p.checking && p.failed.Due() {
			again, positions = append(again, p), append(positions, p.clientPosition())
		}
	}
	r.mu.Unlock()
	if len(removed) > 0 && cl != nil {
		cl.RemoveConsumePartitions(removed)
	}
	if len(again) == 0 {
		return
	}
	kafka.Seek(cl, positions...)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range again {
		p.failing = false
		p.resume() // unless it was closed
	}
}

// poll waits for records and puts them into the queues.
func (s *session) poll(ctx context.Context) {
	s.r.mu.Lock()
	cl := s.r.cl
	s.r.mu.Unlock()
	if cl == nil {
		pause.For(ctx, pollWait)
		return
	}
	s.wake.Look(cl)
	bounded, cancel := context.WithTimeout(ctx, pollWait)
	defer cancel()
	fetches := cl.PollRecords(bounded, pollRecords)
	lost := map[id]bool{}
	fetches.EachError(func(topic string, n int32, err error) {
		if errors.As(err, new(*kgo.ErrDataLoss)) {
			lost[id{topic, n}] = true
		}
	})
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		if !lost[id{fp.Topic, fp.Partition}] { // otherwise the records may be those of the other log
			s.take(fp)
		}
	})
	fetches.EachError(func(topic string, n int32, err error) { // behind the records
		switch {
		case bounded.Err() != nil && errors.Is(err, bounded.Err()):
		case n < 0: // of the topic, or of the cluster
			s.noteReason(topic, err)
			pause.For(ctx, pollWait)
		default:
			s.fetchFailed(ctx, id{topic, n}, err)
		}
	})
}

// noteReason notes an error of all partitions of a topic, or of all topics if it is empty.
func (s *session) noteReason(topic string, err error) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	for at, p := range s.r.parts {
		if p.active && p.stopped == nil && (topic == "" || topic == at.topic) {
			p.reason = err.Error()
		}
	}
}

// take puts records into the queue of a partition.
func (s *session) take(fp kgo.FetchTopicPartition) {
	r := s.r
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.parts[id{fp.Topic, fp.Partition}]
	if p == nil || !p.active {
		return // it was closed, and perhaps opened again
	}
	records := fp.Records
	for len(records) > 0 && records[0].Offset < p.at.Next {
		records = records[1:] // the client was set back
	}
	if len(records) == 0 {
		return
	}
	for _, rec := range records {
		p.bytes += sizeOf(rec)
	}
	p.queue = append(p.queue, records...)
	last := records[len(records)-1]
	p.at.Next, p.at.Epoch = last.Offset+1, last.LeaderEpoch
	p.end = max(p.end, p.at.Next)
	p.wait("")
	if !p.full && p.bytes >= r.cfg.QueueBytes {
		p.full = true
		p.pauseFetches()
	}
	p.signal()
}

// fetchFailed takes an error of a fetch: it pauses the partition, and finds out why.
func (s *session) fetchFailed(ctx context.Context, at id, err error) {
	r := s.r
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.parts[at]
	if p == nil || !p.active || p.checking {
		return
	}
	p.failing, p.checking = true, true
	p.pauseFetches()
	position := p.clientPosition()
	s.checks.Go(func() {
		final := p.failed.Failed(ctx, r.cfg.Kafka, position, err)
		if kafka.Damaged(final) {
			final = r.cfg.Kafka.Unreadable(ctx, kafka.UnreadableError{Topic: at.topic, Partition: at.n, Offset: position.Offset}, final)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		p.checking = false
		switch {
		case r.parts[at] != p || !p.active:
		case final == nil:
			p.wait(err.Error())
		case kafka.Damaged(final):
			p.halt(final)
		default: // the next answer of the brokers has the reason
			p.wait(final.Error())
			p.retryAt = time.Now().Add(stoppedPause)
			p.deactivate()
		}
	})
}

// clientPosition returns where the client has to read. The mutex is held.
func (p *Partition) clientPosition() kafka.Position {
	epoch := p.at.Epoch
	return kafka.Position{Topic: p.topic, Partition: p.n, Offset: p.at.Next, Epoch: &epoch}
}
