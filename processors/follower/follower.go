package follower

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/internal/store"
)

// Follower follows topics. Its methods may be called by several goroutines.
type Follower struct {
	cfg      Config
	outage   logthrottle.Tracker
	caughtUp chan struct{}
	memory   loadMemory // used by the goroutine of Run

	planned bool // the last answer of the brokers was taken as a whole; used by the goroutine of Run

	// Only the goroutine of Run changes what mu guards, so that goroutine reads it without mu.
	mu      sync.RWMutex
	store   *store.Store // nil while Run is not at work
	parts   map[id]*partition
	missing map[string]string // topics that cannot be read: why
	began   time.Time         // of this Run
}

// New returns a follower. It starts nothing. Its error is ErrConfig.
func New(cfg Config) (*Follower, error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	return &Follower{cfg: cfg, caughtUp: make(chan struct{}), parts: map[id]*partition{}, missing: map[string]string{}}, nil
}

// CaughtUp returns a channel that is closed once every partition of all topics has been read to an
// end that the brokers reported in this Run. It stays closed.
func (f *Follower) CaughtUp() <-chan struct{} { return f.caughtUp }

// damageLimit is the number of times that one Run replaces a damaged store.
const damageLimit = 3

// retryPause is the pause before the brokers are asked again after a failure.
const retryPause = time.Second

// Run follows the topics until ctx ends, and returns nil then. Failures of the brokers do not end
// it. It returns ErrLocked, ErrNewer, ErrDiskFull, ErrDisk, or the error of a callback. After it
// has returned, Run may be called again.
func (f *Follower) Run(ctx context.Context) error {
	for n := 1; ; n++ {
		if err := f.run(ctx); !store.IsDamage(err) || n == damageLimit || ctx.Err() != nil {
			return err
		}
	}
}

// run opens the store, follows the topics and closes the store.
func (f *Follower) run(ctx context.Context) error {
	o := f.cfg.database()
	s, err := store.Open(o, f.cfg.Name) //nolint:contextcheck // Pebble wants a context for remote files; there are none
	if err != nil {
		return fmt.Errorf("follower %s: %w", f.cfg.Name, err)
	}
	err = f.follow(ctx, s)
	f.mu.Lock()
	f.store = nil
	for _, p := range f.parts {
		p.active = false
	}
	f.mu.Unlock()
	if errors.Is(err, errKilled) {
		return errors.Join(err, s.Close())
	}
	return s.CloseAfter(o, err)
}

// errKilled is returned by a failpoint: the process does nothing more.
var errKilled = errors.New("killed at a failpoint")

// follow works with an open store.
func (f *Follower) follow(ctx context.Context, s *store.Store) error {
	if err := f.open(ctx, s); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		if s.AwaitFailure(ctx) != nil {
			cancel()
		}
	})
	defer watch.Wait()
	defer cancel()
	for {
		err := f.session(ctx)
		var local *localError
		switch {
		case errors.As(err, &local):
			return local.err
		case ctx.Err() != nil:
			return f.savePositions(time.Now())
		case err != nil:
			f.failed(err)
			pause.For(ctx, retryPause)
		}
	}
}

// localError is an error that the brokers did not cause. It ends Run.
type localError struct{ err error }

func (e *localError) Error() string { return e.err.Error() }

// local marks an error as one that the brokers did not cause.
func local(err error) error {
	if err == nil {
		return nil
	}
	return &localError{err}
}

// open reads the positions of the store, deletes the rows of topics that are not followed any
// longer, and calls OnOpen.
func (f *Follower) open(ctx context.Context, s *store.Store) error {
	found, err := readPositions(ctx, s)
	if err != nil {
		return err
	}
	parts := map[id]*partition{}
	for slot, p := range found {
		topic, follows := f.topic(p.Topic)
		at := id{p.Topic, p.Partition}
		if !follows || parts[at] != nil {
			f.cfg.Log.Info().Str("topic", p.Topic).Int32("partition", p.Partition).Msg("follower_dropped")
			if err := s.ClearPartition(slot); err != nil {
				return err
			}
			continue
		}
		parts[at] = &partition{position: p, topic: topic, slot: slot, end: -1, written: time.Now()}
	}
	f.memory = loadMemory{limit: max(1<<20, int(f.cfg.MemtableBytes/4))}
	f.mu.Lock()
	f.store, f.parts, f.began = s, parts, time.Now()
	f.mu.Unlock()
	snap, err := f.Snapshot()
	if err != nil {
		return err
	}
	return errors.Join(f.cfg.OnOpen(snap), snap.Close())
}

// topic returns the configured topic of a name.
func (f *Follower) topic(name string) (Topic, bool) {
	for _, t := range f.cfg.Topics {
		if t.Name == name {
			return t, true
		}
	}
	return Topic{}, false
}

// freeSlot returns a slot that has no rows and no load.
func (f *Follower) freeSlot() (int32, error) {
	used := map[int32]bool{}
	for _, p := range f.parts {
		used[p.slot] = true
		if p.load != nil {
			used[p.load.slot] = true
		}
	}
	for slot := range int32(1 << 16) {
		if !used[slot] {
			return slot, nil
		}
	}
	return 0, errors.New("the topics have more than 65,535 partitions: use several followers")
}

// savePositions writes positions that changed without a record: the time as of which the rows are
// complete.
func (f *Follower) savePositions(before time.Time) error {
	b := f.store.DB.NewBatch()
	var err error
	for _, p := range f.parts {
		if p.slot >= 0 && p.AsOf.After(p.written) && p.written.Before(before) {
			err = errors.Join(err, putPosition(b, p.slot, p.position))
			p.written = time.Now()
		}
	}
	return errors.Join(err, b.Commit(pebble.NoSync), b.Close())
}

// failed logs a failure of the brokers. The line comes once for an outage, and again each minute.
func (f *Follower) failed(err error) {
	e := f.outage.Failure(time.Now())
	line := f.cfg.Log.Warn().Str("follower", f.cfg.Name).Err(err).Dur("for_ms", e.For)
	switch e.Kind {
	case logthrottle.Begin:
		line.Msg("follower_failed")
	case logthrottle.Continue:
		line.Msg("follower_still_failing")
	case logthrottle.None, logthrottle.End:
		line.Discard().Send()
	}
}

func (f *Follower) succeeded() {
	if e := f.outage.Success(time.Now()); e.Kind == logthrottle.End {
		f.cfg.Log.Warn().Str("follower", f.cfg.Name).Dur("for_ms", e.For).Msg("follower_recovered")
	}
}

// checkCaughtUp closes the channel of CaughtUp once all partitions were complete in this Run.
func (f *Follower) checkCaughtUp() {
	select {
	case <-f.caughtUp:
		return
	default:
	}
	f.mu.RLock()
	missing := len(f.missing)
	f.mu.RUnlock()
	if missing > 0 || !f.planned { // a load of an empty partition ends before the next one is known
		return
	}
	for _, p := range f.parts {
		if p.AsOf.Before(f.began) {
			return
		}
	}
	f.cfg.Log.Info().Str("follower", f.cfg.Name).Int("partitions", len(f.parts)).Dur("took_ms", time.Since(f.began)).
		Msg("follower_caught_up")
	close(f.caughtUp)
}

// slots returns the slots of the rows of all partitions.
func (f *Follower) slots() map[id]int32 {
	slots := make(map[id]int32, len(f.parts))
	for at, p := range f.parts {
		slots[at] = p.slot
	}
	return slots
}
