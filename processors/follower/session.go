package follower

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/kafka"
)

// session reads with one client, until ctx ends or the client has to be made again.
type session struct {
	f    *Follower
	cl   *kgo.Client // nil until the first partition is read
	wake kafka.Wake
	used map[id]bool // partitions that cl reads or has read
}

// errAgain ends a session that has to begin again with a new client.
var errAgain = errors.New("the client is made again")

// tooOld is why the rows of a partition cannot be continued.
const tooOld = "the rows were complete too long ago: compaction may have removed tombstones"

const (
	pollWait       = 200 * time.Millisecond
	pollRecords    = 20_000
	partitionPause = 10 * time.Second // until a partition that cannot be read is tried again
)

// session returns nil when it has to begin again at once, the error of the brokers, or a
// localError.
func (f *Follower) session(ctx context.Context) (err error) {
	ask, err := f.cfg.Kafka.Client()
	if err != nil {
		return local(fmt.Errorf("%w: make client: %w", ErrConfig, err))
	}
	defer ask.Close()
	asker := f.newAsker(ask)
	first, err := asker.ask(ctx)
	if err != nil {
		f.unreachable(err)
		return err
	}
	f.succeeded()
	s := &session{f: f, used: map[id]bool{}}
	actx, cancel := context.WithCancel(ctx)
	answers := make(chan *brokerState, 1)
	var asking sync.WaitGroup
	asking.Go(func() { f.keepAsking(actx, asker, answers) })
	defer func() {
		cancel()
		asking.Wait()
		err = errors.Join(err, local(s.end()))
	}()
	answers <- first
	for ctx.Err() == nil {
		select {
		case st := <-answers:
			if err := s.plan(st); errors.Is(err, errAgain) {
				return nil
			} else if err != nil {
				return local(err)
			}
		default:
		}
		if err := s.poll(ctx); err != nil {
			return local(err)
		}
	}
	return nil
}

// keepAsking asks the brokers until ctx ends. A newer answer replaces one that was not taken.
func (f *Follower) keepAsking(ctx context.Context, a *asker, answers chan *brokerState) {
	for pause.For(ctx, askEvery) {
		st, err := a.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			f.unreachable(err)
			f.failed(err)
			continue
		}
		f.succeeded()
		select {
		case <-answers:
		default:
		}
		answers <- st
	}
}

// unreachable shows in Status that the brokers do not answer.
func (f *Follower) unreachable(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.parts {
		p.reason = err.Error()
	}
	for _, t := range f.cfg.Topics {
		f.missing[t.Name] = err.Error()
	}
}

// end closes the client and abandons loads.
func (s *session) end() (err error) {
	if s.cl != nil {
		s.cl.Close()
	}
	for _, p := range s.f.parts {
		if p.load != nil {
			err = errors.Join(err, p.load.abandon())
		}
		s.f.mu.Lock()
		p.load, p.active = nil, false
		s.f.mu.Unlock()
	}
	return err
}

// plan takes an answer of the brokers: it begins with new partitions, drops those of a topic that
// was created again, and observes which partitions are at their end.
func (s *session) plan(st *brokerState) error {
	f := s.f
	f.planned = false
	begin := map[string]map[int32]kgo.Offset{}
	for _, topic := range f.cfg.Topics {
		t := st.topics[topic.Name]
		if t.Err != nil || len(t.Partitions) == 0 {
			s.wait(topic.Name, t.Err)
			continue
		}
		topicID := t.ID.String()
		if err := s.dropFormer(topic.Name, topicID); err != nil {
			return err
		}
		f.mu.Lock()
		delete(f.missing, topic.Name)
		f.mu.Unlock()
		for n, ps := range t.Partitions {
			at := id{topic.Name, n}
			p := s.partition(topic, n, topicID)
			again, err := s.look(p, ps, st)
			if err != nil {
				return err
			}
			if !again {
				continue
			}
			if s.used[at] {
				return errAgain
			}
			offset, err := s.start(p, ps, t)
			if err != nil {
				return err
			}
			if begin[topic.Name] == nil {
				begin[topic.Name] = map[int32]kgo.Offset{}
			}
			begin[topic.Name][n] = offset
			s.used[at] = true
		}
		if err := s.tooLate(topic.Name, t.keeps); err != nil {
			return err
		}
	}
	f.planned = true
	f.checkCaughtUp()
	if err := f.savePositions(time.Now().Add(-time.Minute)); err != nil {
		return err
	}
	return s.read(begin)
}

// wait notes that a topic cannot be read now.
func (s *session) wait(topic string, err error) {
	reason := "the topic has no partitions"
	if errors.Is(err, kerr.UnknownTopicOrPartition) {
		reason = "the topic does not exist: the follower waits until it is created"
	} else if err != nil {
		reason = err.Error()
	}
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.missing[topic] = reason
	for at, p := range s.f.parts {
		if at.topic != topic {
			continue
		}
		if p.reason = reason; p.active && errors.Is(err, kerr.UnknownTopicOrPartition) {
			p.active = false // the client would repeat the fetch without a pause
			s.cl.RemoveConsumePartitions(map[string][]int32{topic: {at.n}})
		}
	}
}

// dropFormer deletes the rows of a topic that was created again.
func (s *session) dropFormer(topic, topicID string) error {
	f, again, former := s.f, false, ""
	for at, p := range f.parts {
		if at.topic != topic || p.TopicID == topicID {
			continue
		}
		again, former = again || s.used[at], p.TopicID
		if p.load != nil {
			if err := p.load.abandon(); err != nil {
				return err
			}
		}
		if err := f.forget(p); err != nil {
			return err
		}
		f.mu.Lock()
		delete(f.parts, at)
		f.mu.Unlock()
	}
	if former != "" {
		f.cfg.Log.Warn().Str("topic", topic).Str("former_id", former).Str("id", topicID).Msg("follower_topic_recreated")
	}
	if again {
		return errAgain
	}
	return nil
}

// partition returns the partition of a topic, which may be new.
func (s *session) partition(topic Topic, n int32, topicID string) *partition {
	at := id{topic.Name, n}
	if p := s.f.parts[at]; p != nil {
		return p
	}
	p := &partition{
		topic: topic, slot: -1, position: position{Format: positionFormat, Topic: topic.Name, Partition: n, TopicID: topicID, Epoch: -1},
	}
	s.f.mu.Lock()
	s.f.parts[at] = p
	s.f.mu.Unlock()
	return p
}

// look takes what the brokers report about a partition. It returns true if the partition is to be
// read and is not.
func (s *session) look(p *partition, ps kafka.PartitionLog, st *brokerState) (begin bool, err error) {
	f := s.f
	f.mu.Lock()
	if ps.Err != nil {
		p.reason = ps.Err.Error()
		f.mu.Unlock()
		return false, nil //nolint:nilerr // its status has the reason, and the others go on
	}
	p.end, p.endAt = ps.End, st.at
	if p.active {
		p.reason = ""
	}
	if over, ok := st.skips[id{p.Topic, p.Partition}]; ok && p.active && p.at() == over.from {
		if p.load != nil {
			p.load.next.Store(over.to)
		} else {
			p.Next, p.written = over.to, time.Time{}
		}
	}
	begin = !p.active && !time.Now().Before(p.retryAt)
	f.mu.Unlock()
	if p.load != nil && p.load.ended() {
		return begin, f.finish(p)
	}
	return begin, nil
}

// tooLate loads partitions again whose tombstones the log may lack, and observes which of the
// others are at their end.
func (s *session) tooLate(topic string, keeps time.Duration) error {
	for at, p := range s.f.parts {
		if at.topic != topic || !p.active {
			continue
		}
		if p.load == nil && p.tombstonesLost(keeps) {
			p.reload = tooOld
			return errAgain
		}
		s.f.mu.Lock()
		p.keeps = keeps
		p.observeEnd()
		s.f.mu.Unlock()
	}
	return nil
}

// start returns the offset at which the reading of a partition begins. It begins a load unless the
// rows can be continued.
func (s *session) start(p *partition, ps kafka.PartitionLog, t topicState) (kgo.Offset, error) {
	why := ""
	switch {
	case p.slot < 0:
		why = "new"
	case p.reload != "":
		why = p.reload
	case ps.Start > p.Next:
		why = fmt.Sprintf("the log starts at %d, behind the position %d", ps.Start, p.Next)
	case ps.End < p.Next:
		why = fmt.Sprintf("the log ends at %d, before the position %d", ps.End, p.Next)
	case p.tombstonesLost(t.keeps):
		why = tooOld
	}
	var l *load
	if why != "" {
		level := s.f.cfg.Log.Warn()
		if p.slot < 0 {
			level = s.f.cfg.Log.Debug()
		}
		level.Str("topic", p.Topic).Int32("partition", p.Partition).Str("why", why).Msg("follower_loading")
		var err error
		if l, err = s.f.newLoad(p.endAt, ps.Start, ps.End); err != nil {
			return kgo.Offset{}, err
		}
	}
	s.f.mu.Lock()
	p.active, p.load, p.reload, p.keeps, p.reason, p.damaged, p.failed = true, l, "", t.keeps, "", nil, kafka.FailedFetch{}
	s.f.mu.Unlock()
	if l == nil {
		return kgo.NewOffset().At(p.Next).WithEpoch(p.Epoch), nil
	}
	offset := kgo.NewOffset().At(l.next.Load())
	if l.ended() {
		return offset, s.f.finish(p)
	}
	return offset, nil
}

// read begins to read partitions.
func (s *session) read(begin map[string]map[int32]kgo.Offset) (err error) {
	switch {
	case len(begin) == 0:
		return nil
	case s.cl != nil:
		s.cl.AddConsumePartitions(begin)
		return nil
	}
	s.cl, err = s.f.cfg.Kafka.Client(
		kgo.ConsumePartitions(begin), kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxBytes(s.f.cfg.FetchBytes/2), kgo.FetchMaxPartitionBytes(s.f.cfg.FetchBytes/2),
		kgo.FetchMaxWait(500*time.Millisecond),
	)
	if err != nil {
		return fmt.Errorf("%w: make client: %w", ErrConfig, err)
	}
	return nil
}

// poll waits for records and applies them.
func (s *session) poll(ctx context.Context) error {
	if s.cl == nil {
		pause.For(ctx, pollWait)
		return nil
	}
	s.retryFetches()
	fetches := s.fetches(ctx)
	a := s.f.newApplier()
	var err error
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		p := s.f.parts[id{fp.Topic, fp.Partition}]
		if err != nil || p == nil || !p.active || len(fp.Records) == 0 {
			return
		}
		if p.load == nil && p.tombstonesLost(p.keeps) {
			s.stop(p, tooOld, time.Now())
			p.reload = tooOld
			return
		}
		s.readable(p)
		err = a.records(p, fp.Records)
	})
	if err != nil {
		return errors.Join(err, a.batch.Close())
	}
	if err := errors.Join(a.commit(), s.f.finishWritten(fetches.Empty())); err != nil {
		return err
	}
	fetches.EachError(func(topic string, n int32, err error) { // behind the records
		if p := s.f.parts[id{topic, n}]; p != nil && p.active && ctx.Err() == nil {
			s.fetchFailed(ctx, p, err)
		}
	})
	return nil
}

// fetches waits for records. While partitions are loaded it takes all that have been fetched, so
// that the client fetches while they are loaded. It does not wait if a load has reached its end.
func (s *session) fetches(ctx context.Context) kgo.Fetches {
	s.wake.Look(s.cl)
	limit := pollRecords
	for _, p := range s.f.parts {
		switch {
		case p.load != nil && p.load.ended():
			return s.cl.PollRecords(nil, 0) //nolint:staticcheck,contextcheck // a nil context does not wait
		case p.load != nil:
			limit = 0
		}
	}
	ctx, cancel := context.WithTimeout(ctx, pollWait)
	defer cancel()
	return s.cl.PollRecords(ctx, limit)
}

// fetchFailed takes an error of a fetch. After one that may pass, and at a damaged batch, the
// partition is paused in the client: to make the client again would abandon the loads of others.
func (s *session) fetchFailed(ctx context.Context, p *partition, err error) {
	final := p.failed.Failed(ctx, s.f.cfg.Kafka, p.clientPosition(), err)
	var loss *kgo.ErrDataLoss
	switch {
	case final == nil:
		s.f.mu.Lock()
		p.reason = err.Error()
		s.f.mu.Unlock()
		s.cl.PauseFetchPartitions(map[string][]int32{p.Topic: {p.Partition}})
	case errors.As(final, &loss), errors.Is(final, kerr.OffsetOutOfRange):
		s.stop(p, final.Error(), time.Now())
		p.reload = final.Error()
	case kafka.Damaged(final):
		s.stopDamaged(ctx, p, final)
	default:
		s.stop(p, final.Error(), time.Now().Add(partitionPause))
	}
}

// stopDamaged pauses a partition whose next batch cannot be decoded.
func (s *session) stopDamaged(ctx context.Context, p *partition, err error) {
	s.cl.PauseFetchPartitions(map[string][]int32{p.Topic: {p.Partition}})
	if p.damaged != nil {
		return
	}
	why := new(kafka.UnreadableError)
	errors.As(s.f.cfg.Kafka.Unreadable(ctx, kafka.UnreadableError{Topic: p.Topic, Partition: p.Partition, Offset: p.at()}, err), &why)
	s.f.mu.Lock()
	p.damaged = why
	s.f.mu.Unlock()
	s.f.cfg.Log.Error().Str("topic", p.Topic).Int32("partition", p.Partition).Err(why).Time("as_of", p.AsOf).Msg("follower_stopped")
}

// readable notes that a partition has been read again.
func (s *session) readable(p *partition) {
	if p.damaged == nil {
		return
	}
	s.f.mu.Lock()
	p.damaged = nil
	s.f.mu.Unlock()
}

// retryFetches resumes partitions that fetchFailed has paused.
func (s *session) retryFetches() {
	for _, p := range s.f.parts {
		if p.active && p.failed.Due() {
			kafka.Resume(s.cl, p.clientPosition())
		}
	}
}

// stop ends the reading of a partition until a time.
func (s *session) stop(p *partition, why string, until time.Time) {
	s.cl.RemoveConsumePartitions(map[string][]int32{p.Topic: {p.Partition}})
	s.f.mu.Lock()
	p.active, p.reason, p.retryAt, p.damaged = false, why, until, nil
	s.f.mu.Unlock()
	s.f.cfg.Log.Warn().Str("topic", p.Topic).Int32("partition", p.Partition).Str("why", why).Msg("follower_interrupted")
}
