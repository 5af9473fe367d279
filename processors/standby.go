package processors

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/group"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// standby keeps partitions warm that other processes own: it applies their changelogs to the store
// of this process. The assignor of the group selects the partitions. A worker of this process that
// gets one of them takes it over at once.
//
//	assignor ─▶ onAssignment, by worker ─▶ wanted ─▶ acquire ─▶ follow: poll ─▶ apply
//	                                                   ▲ wake: a new assignment, a released partition
type standby struct {
	cfg        *Config
	proc       *stream.Processor
	store      *store.Store
	partitions int32 // of the processor
	log        zerolog.Logger
	snapshot   *statusSnapshot
	// rebalance asks the group for a new plan.
	rebalance func()

	mailbox mailbox // only interrupts the poll

	mu          sync.Mutex
	assignments map[int]workerAssignment // by worker
	spare       bool                     // the group has no partition for this process

	held          map[int32]*changelog.Applier
	ends          map[int32]int64                  // end offsets of the changelogs at the last fetch
	consistency   map[int32]*changelog.Consistency // of the partitions in held
	backoff       map[int32]time.Time              // partitions that failed, until when
	rebuild       map[int32]bool                   // begin with an empty store
	lastRebalance time.Time                        // last call of rebalance
	near          map[int32]time.Time              // since when a store lacks no more records than a warm one may

	damaged  map[int32]error   // partitions in held whose changelog is damaged at their position
	client   *changelog.Reader // nil if nothing is followed
	handlers standbyHandlers

	refreshDone chan refreshResult // of the refresh in progress; nil between two refreshes
	lastRefresh time.Time          // start of the last refresh
}

// nearWait is the time after which a store that is near to the end of the changelog counts as warm,
// whatever its age is.
const nearWait = 30 * time.Second

// workerAssignment is the assignment of one worker.
type workerAssignment struct{ active, standbys, warmups []int32 }

func newStandby(cfg *Config, proc *stream.Processor, s *store.Store, view *statusSnapshot) *standby {
	f := &standby{
		cfg: cfg, proc: proc, store: s, snapshot: view, log: cfg.Log.With().Str("app", proc.App).Logger(),
		assignments: map[int]workerAssignment{}, held: map[int32]*changelog.Applier{}, ends: map[int32]int64{},
		consistency: map[int32]*changelog.Consistency{}, backoff: map[int32]time.Time{}, rebuild: map[int32]bool{},
		damaged: map[int32]error{}, near: map[int32]time.Time{},
	}
	f.handlers = standbyHandlers{
		byPartition: map[int32]*handler.Warm{}, notBefore: map[int32]time.Time{}, handedOver: handedOver{list: map[int32]*handler.Warm{}},
	}
	s.OnRelease = f.wake
	return f
}

func (f *standby) wake() { f.mailbox.post(func() {}) }

// onAssignment gets the assignment of a worker. It reports whether this process has become a spare
// by it.
func (f *standby) onAssignment(worker int, active []int32, d *changelogpb.WorkerAssignment) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.assignments[worker] = workerAssignment{active, d.GetStandbys(), d.GetWarmups()}
	f.wake()
	none, was := d.GetProcesses() > f.partitions, f.spare
	for _, a := range f.assignments {
		none = none && len(a.active)+len(a.warmups) == 0
	}
	if !none {
		f.spare = false
	} else if !d.GetIncomplete() && len(f.assignments) == f.cfg.Workers {
		f.spare = true
	}
	return f.spare && !was
}

// wanted returns the partitions to keep warm, and those of them that this process will own once
// they are warm.
func (f *standby) wanted() (all, warming map[int32]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	all, warming = map[int32]bool{}, map[int32]bool{}
	for _, d := range f.assignments {
		for _, p := range d.standbys {
			all[p] = true
		}
		for _, p := range d.warmups {
			warming[p] = true
		}
	}
	for _, d := range f.assignments {
		for _, p := range d.active {
			delete(all, p)
		}
	}
	return all, warming
}

// run follows changelogs until ctx ends. It retries after errors: a standby that is behind makes a
// takeover longer, and has no other effect.
func (f *standby) run(ctx context.Context) error {
	defer func() {
		if f.release(func(int32) bool { return true }); f.refreshDone != nil {
			<-f.refreshDone
		}
		f.endHandlers()
	}()
	for ctx.Err() == nil {
		if err := f.follow(ctx); store.IsDamage(err) {
			return err
		} else if err != nil && ctx.Err() == nil {
			f.log.Warn().Err(err).Msg("standby_failed")
			pause.For(ctx, time.Second)
		}
	}
	return nil
}

// follow reads with one client until the set of partitions changes.
func (f *standby) follow(ctx context.Context) error {
	if err := f.acquire(ctx); err != nil {
		return err
	}
	at := map[int32]kgo.Offset{}
	for p, r := range f.held {
		at[p] = kgo.NewOffset().At(r.Next)
	}
	if f.client = nil; len(at) > 0 {
		cl, err := changelog.NewReader(f.cfg.Kafka, f.proc.Changelog, at, kgo.FetchMaxBytes(f.cfg.FetchBytes),
			kgo.FetchMaxPartitionBytes(min(4<<20, f.cfg.FetchBytes)))
		if err != nil {
			return err
		}
		defer cl.Close()
		f.client = cl
		f.pauseBuilding()
	}
	for {
		pctx, cancel := context.WithTimeout(ctx, time.Second)
		f.mailbox.interrupt(cancel)
		var fetches kgo.Fetches
		var unreadable map[int32]error
		if f.client != nil {
			fetches, unreadable = f.client.Poll(pctx, 10_000)
		} else {
			<-pctx.Done()
		}
		f.mailbox.interrupt(nil)
		cancel()
		if ctx.Err() != nil {
			return nil
		}
		f.apply(fetches)
		f.stopReading(unreadable)
		f.publish()
		f.requestRebalance()
		f.applyRefresh()
		f.refresh(ctx)
		f.dropHandedOver()
		f.handlerBuilt()
		f.buildHandler(ctx)
		f.mailbox.take()
		if len(f.held) != len(at) || f.changed() {
			return nil
		}
	}
}

// acquire releases the partitions that are not wanted, and starts to follow the wanted ones that no
// worker of this process owns.
func (f *standby) acquire(ctx context.Context) error {
	wanted, _ := f.wanted()
	f.release(func(p int32) bool { return !wanted[p] })
	var fresh []int32
	for p := range wanted {
		if f.due(p) && f.store.TryAcquire(p) {
			fresh = append(fresh, p)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	state, err := f.fetchBrokerState(ctx)
	for _, p := range fresh {
		var r *changelog.Applier
		if err == nil {
			if r, err = changelog.NewApplier(f.store, state, p, f.rebuild[p]); err == nil {
				f.held[p], f.consistency[p] = r, &changelog.Consistency{}
				delete(f.rebuild, p)
				f.adoptHandler(r)
				f.log.Info().Int32("partition", p).Int64("from", r.Next).Msg("standby_begun")
				continue
			}
		}
		f.store.Release(p)
		f.backOff(p, err)
	}
	return nil
}

func (f *standby) fetchBrokerState(ctx context.Context) (*changelog.BrokerState, error) {
	cl, err := f.cfg.Kafka.Client()
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	return changelog.FetchTopicState(ctx, kadm.NewClient(cl), f.proc)
}

// apply applies fetched records. Complete transactions are written to the store at once; the
// beginning of a transaction waits for its marker.
func (f *standby) apply(fetches kgo.Fetches) {
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		r := f.held[fp.Partition]
		if r == nil {
			return
		}
		if len(fp.Records) > 0 {
			delete(f.damaged, fp.Partition)
		}
		f.ends[fp.Partition] = max(fp.HighWatermark, fp.LastStableOffset)
		before := r.Count
		err := r.ApplyAll(fp.Records)
		f.cfg.Metrics.RestoredRecords.WithLabelValues(f.proc.App).Add(float64(r.Count - before))
		if err == nil && r.AtMarker() && r.Count > before {
			err = r.Flush()
		}
		f.checkHandler(fp.Partition)
		if errors.Is(err, changelog.ErrDiverged) {
			f.rebuild[fp.Partition] = true
		}
		if err != nil {
			f.fail(fp.Partition, err)
		}
	})
}

// stopReading takes the errors of partitions that cannot be read. A store whose changelog is
// damaged keeps what it has: it may be the only one that has the damaged batch, or lacks the least.
func (f *standby) stopReading(unreadable map[int32]error) {
	for p, err := range unreadable {
		switch loss := new(kgo.ErrDataLoss); {
		case f.held[p] == nil:
		case !kafka.Damaged(err):
			// Without the offset of the store, the changelog has another history.
			f.rebuild[p] = errors.As(err, &loss) || errors.Is(err, kerr.OffsetOutOfRange)
			f.fail(p, err)
		case f.damaged[p] == nil:
			f.damaged[p] = &kafka.DamagedChangelogError{Topic: f.proc.Changelog, Partition: p, Err: err}
			f.log.Error().Int32("partition", p).Err(f.damaged[p]).Msg("standby_stopped")
		}
	}
}

// fail stops following a partition for a while.
func (f *standby) fail(p int32, err error) {
	f.release(func(q int32) bool { return q == p })
	f.backOff(p, err)
}

// backOff delays the next attempt, unless the partition is to be rebuilt.
func (f *standby) backOff(p int32, err error) {
	if f.backoff[p] = time.Now().Add(2 * time.Second); f.rebuild[p] {
		f.backoff[p] = time.Time{}
	}
	f.log.Warn().Int32("partition", p).Err(err).Bool("rebuild", f.rebuild[p]).Msg("standby_interrupted")
}

// due reports whether a wanted partition is not followed and its delay has passed.
func (f *standby) due(p int32) bool { return f.held[p] == nil && time.Now().After(f.backoff[p]) }

// changed reports whether acquire would release or add a partition. Otherwise the client is kept.
func (f *standby) changed() bool {
	wanted, _ := f.wanted()
	for p := range f.held {
		if !wanted[p] {
			return true
		}
	}
	for p := range wanted {
		if f.due(p) && f.store.Available(p) {
			return true
		}
	}
	return false
}

// release stops following the selected partitions.
func (f *standby) release(selected func(int32) bool) {
	owned := f.owned()
	for _, p := range slices.Collect(maps.Keys(f.held)) {
		if !selected(p) {
			continue
		}
		f.releaseHandler(p, owned[p])
		if err := f.held[p].Close(); err != nil {
			f.log.Warn().Int32("partition", p).Err(err).Msg("standby_close_failed")
		}
		delete(f.held, p)
		delete(f.ends, p)
		delete(f.consistency, p)
		delete(f.damaged, p)
		delete(f.near, p)
		f.store.Release(p)
		f.log.Info().Int32("partition", p).Msg("standby_released")
	}
	f.publish()
}

// requestRebalance asks for a rebalance once a partition is warm that this process will own. The
// leader of the group may decide against it, so the request is repeated every five seconds.
func (f *standby) requestRebalance() {
	_, warming := f.wanted()
	for p := range warming {
		r := f.held[p]
		if r == nil || !r.PastStoreMarker() || !f.warm(p, r) || time.Since(f.lastRebalance) < 5*time.Second {
			continue
		}
		f.lastRebalance = time.Now()
		f.log.Info().Int32("partition", p).Msg("standby_warm")
		f.rebalance()
		return
	}
}

// warm reports whether the group is likely to take the store for warm. The clock of the owner may
// differ from that of this process, so that only the group knows: it is asked after nearWait.
func (f *standby) warm(p int32, r *changelog.Applier) bool {
	lag := f.ends[p] - r.Meta.ChangelogNext
	if lag > group.AcceptableLag/2 {
		delete(f.near, p)
		return false
	}
	if _, ok := f.near[p]; !ok {
		f.near[p] = time.Now()
	}
	age := time.Since(time.UnixMilli(r.Meta.GetMarker().GetWrittenAtMs()))
	return lag <= group.FewRecords/2 || age.Abs() <= group.AcceptableAge/2 || time.Since(f.near[p]) >= nearWait
}

// publish updates the status of the followed partitions.
func (f *standby) publish() {
	list := make([]Status, 0, len(f.held))
	for _, p := range slices.Sorted(maps.Keys(f.held)) {
		r := f.held[p]
		s := Status{App: f.proc.App, Partition: p, State: StateStandby, ChangelogNext: r.Meta.ChangelogNext, Lag: max(0, f.ends[p]-r.Next)}
		s.HandlerWarm = f.handlers.byPartition[p] != nil
		s.OwnerEpoch, s.Sequence, s.Next = r.Meta.GetMarker().GetOwnerEpoch(), r.Meta.GetMarker().GetSequence(),
			changelogpb.NextOffsets(r.Meta.GetMarker().GetInputs())
		if !f.consistency[p].Update(r, f.ends[p], group.AcceptableLag) {
			s.Reason = "it is catching up"
		}
		if err := f.damaged[p]; err != nil {
			s.Damage = err.Error()
		}
		list = append(list, s)
	}
	f.snapshot.mu.Lock()
	f.snapshot.list = list
	f.snapshot.mu.Unlock()
	for state, n := range map[string]int{StateStandby: len(list) - len(f.damaged), StateStopped: len(f.damaged)} {
		f.cfg.Metrics.Partitions.WithLabelValues(f.proc.App, f.snapshot.worker, state).Set(float64(n))
	}
}
