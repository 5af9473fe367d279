package processors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/failpoint"
	"github.com/weirhq/weir/processors/internal/replayrange"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/topics"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Runtime runs one Processor in this process.
type Runtime struct {
	cfg      Config
	given    Config // cfg as New completed it: Run changes cfg, and any goroutine may call Config
	proc     stream.Processor
	liveness *brokerLiveness

	mu        sync.RWMutex
	store     *store.Store // nil before Run and after it
	snapshots []*statusSnapshot
	parts     int32

	inboxes atomic.Pointer[directory]  // of the tasks that run; nil before Run and after it
	owners  atomic.Pointer[ownerCache] // nil before Run and after it
}

// New checks the configuration and the processor without asking a broker. It starts nothing. It
// returns ErrConfig for a configuration, or a processor, that cannot work.
func New(cfg Config, proc stream.Processor) (*Runtime, error) {
	if err := proc.Complete(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrConfig, err)
	}
	cfg.SetDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	r := &Runtime{cfg: cfg, given: cfg, proc: proc, liveness: newBrokerLiveness()}
	r.cfg.Kafka.Options = append(slices.Clip(cfg.Kafka.Options), kgo.WithHooks(r.liveness))
	for i := range cfg.Workers {
		r.snapshots = append(r.snapshots, &statusSnapshot{app: proc.App, worker: strconv.Itoa(i), metrics: cfg.Metrics})
	}
	r.snapshots = append(r.snapshots, &statusSnapshot{app: proc.App, worker: StateStandby, metrics: cfg.Metrics})
	cfg.Metrics.begin(proc.App)
	return r, nil
}

// Run works until ctx ends. Then it commits what is folded, leaves the group (see
// Config.RemainInGroup), closes the store and returns nil. It returns an error of the package's
// list of errors when it cannot start, or cannot continue. At the start a broker must answer:
// refused connections are an error at once (see kafka.Unreachable), and brokers that do not answer
// for 10 s a *kafka.NoAnswerError.
//
// A stopped partition stays in this process, and Status has its reason. With Config.EndStopped, Run
// returns ErrAllStopped, with a reason, once all partitions of this process, one or more, have been
// stopped for a minute, each for a cause that only a restart ends. Run continues while a partition
// runs or is being restored, while the process catches up with a partition that it gets then, while
// it has no partition or only standbys, and while a partition waits for an instruction to skip
// records that cannot be read, which needs no restart.
//
// Run may be called again after it has returned.
func (r *Runtime) Run(ctx context.Context) (err error) {
	c := &r.cfg
	defer func(failpoint func(*worker, string) error, options []kgo.Opt, fetch int32) { // for the next Run
		c.failpoint, c.Kafka.Options, c.FetchBytes = failpoint, options, fetch
	}(c.failpoint, c.Kafka.Options, c.FetchBytes)
	if hook := failpoint.HookFrom(ctx); hook != nil { // a test kills or freezes this process
		first := r.cfg.failpoint
		r.cfg.failpoint = func(w *worker, at string) error {
			if err := first(w, at); err != nil {
				return err
			}
			return hook(failpoint.Point(at))
		}
	}
	r.cfg.replay, r.cfg.committed = replayrange.FromContext(ctx), &atomic.Bool{}
	parts, err := r.preflight(ctx)
	if err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = nil // stopped during its start
		}
		return err
	}
	// preflight has used the connection, so its settings are right. From now on an end of file in
	// the first answer of a connection is a broker or a proxy that restarts, and not missing TLS.
	// Without AlwaysRetryEOF the heartbeats of a group member end at it.
	r.cfg.Kafka.Options = append(slices.Clip(r.cfg.Kafka.Options), kgo.AlwaysRetryEOF(), kgo.WithLogger(clientLog{*r.cfg.Log}))
	cl, err := r.cfg.Kafka.Client()
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	r.owners.Store(newOwnerCache(kadm.NewClient(cl), r))
	defer r.owners.Store(nil)
	for n := 1; ; n++ {
		if err = r.runStore(ctx, parts); !store.IsDamage(err) {
			return err
		}
		if n == maxDamages {
			return fmt.Errorf("%w: the store was damaged %d times, the last time: %w", ErrDisk, n, err)
		}
	}
}

// runStore works on one store until ctx ends or the store turns out to be damaged.
func (r *Runtime) runStore(ctx context.Context, parts int32) (err error) {
	s, err := store.Open(r.cfg.database(), r.proc.App) //nolint:contextcheck // Pebble wants a context for remote files; there are none
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.store, r.parts = s, parts
	r.mu.Unlock()
	inboxes := make(directory, parts)
	r.inboxes.Store(&inboxes)
	defer func() {
		r.inboxes.Store(nil)
		r.mu.Lock()
		r.store = nil
		r.mu.Unlock()
		err = s.CloseAfter(r.cfg.database(), err)
	}()
	for p := range parts { // before this process takes partitions that another one can run
		if _, err := s.Meta(s.DB, p); errors.Is(err, ErrNewer) || errors.Is(err, ErrForeign) {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.AwaitFailure(ctx) })
	group.Go(func() error { return r.watchSettings(ctx) })
	follower := newStandby(&r.cfg, &r.proc, s, r.snapshots[r.cfg.Workers])
	follower.partitions = parts
	if r.cfg.EndStopped {
		group.Go(func() error { return r.watchStopped(ctx, follower) })
	}
	group.Go(func() error { return follower.run(ctx) })
	searching := &sync.Mutex{}
	for i := range r.cfg.Workers {
		w := newWorker(i, &r.cfg, &r.proc, s)
		w.searching, w.directory, w.owners = searching, inboxes, r.owners.Load()
		w.snapshot, w.partitions, w.standby = r.snapshots[i], parts, follower
		if i == 0 {
			follower.rebalance = func() { w.mailbox.post(w.requestRebalance) }
		}
		group.Go(func() error { return w.run(ctx) })
	}
	if r.cfg.Pins != nil {
		group.Go(func() error {
			r.cfg.Pins.watch(ctx, r.cfg.Instance, follower.rebalance)
			return nil
		})
	}
	return group.Wait()
}

// preflight checks the brokers and the topics before anything is written. It returns the number of
// tasks.
func (r *Runtime) preflight(ctx context.Context) (int32, error) {
	k := r.cfg.Kafka
	if k.Waiting == nil {
		k.Waiting = func(brokers []string) { r.cfg.Log.Warn().Strs("brokers", brokers).Msg("brokers_waiting") }
	}
	cl, err := k.Connect(ctx)
	if err != nil {
		return 0, fmt.Errorf("connect to the brokers: %w", err)
	}
	defer cl.Close()
	version, err := kafka.TransactionVersion(ctx, cl)
	if err != nil {
		return 0, err
	}
	if version < 2 && !r.cfg.AllowOldTransactions {
		return 0, fmt.Errorf("%w: transaction.version is %d, and below 2 a late request of a dead transaction can become a part of the next one (KIP-890): upgrade with kafka-features.sh upgrade --feature transaction.version=2", ErrTransactions, version)
	}
	adm := kadm.NewClient(cl)
	brokers, err := adm.ListBrokers(ctx)
	if err != nil {
		return 0, fmt.Errorf("list brokers: %w", err)
	}
	r.cfg.FetchBytes = max(1<<20, r.cfg.FetchBytes/int32(max(1, len(brokers))))
	// The brokers of some partitions and groups may be away, or have no successor yet: after the
	// death of a broker, and in a new cluster.
	var count topics.Count
	for _, ask := range []func() error{
		func() (err error) { count, err = topics.Await(ctx, &r.proc, adm); return err },
		func() error { return r.checkSettings(ctx, adm, func(string) bool { return true }) },
		func() error { return r.checkMoved(ctx, adm) },
	} {
		if err := kafka.Retry(ctx, r.cfg.Kafka, startRetry, ask); err != nil {
			return 0, err
		}
	}
	for _, added := range count.Ignored {
		r.cfg.Log.Error().Str("app", r.proc.App).Str("topic", added.Topic).Int32("has", added.Has).Int32("needs", added.State).
			Msg("partitions_ignored")
	}
	return count.Tasks, nil
}

// startRetry is how long the checks at the start are repeated while a broker of several is away.
const startRetry = time.Minute

// checkMoved returns ErrNotMoved if the changelog is empty and a former one is not: without the
// former state the application would begin again at zero. A changelog with records has a state or a
// part of one. Each takeover checks that of its partition, see restorer.checkMoved.
func (r *Runtime) checkMoved(ctx context.Context, adm *kadm.Client) (err error) {
	if r.cfg.former, err = changelog.FirstUsed(ctx, adm, r.cfg.FormerChangelogs...); err != nil || r.cfg.former == "" {
		return err
	}
	own, err := changelog.FirstUsed(ctx, adm, r.proc.Changelog)
	if err == nil && own == "" {
		err = fmt.Errorf("%w: changelog %s is empty, and %s is not", ErrNotMoved, r.proc.Changelog, r.cfg.former)
	}
	return err
}

// App returns the application id.
func (r *Runtime) App() string { return r.proc.App }

// Instance returns Config.Instance, the name of this process among those of the application.
func (r *Runtime) Instance() string { return r.cfg.Instance }

// Config returns the configuration that New was given, with its defaults.
func (r *Runtime) Config() Config { return r.given }

// Processor returns the processor that New was given, with its defaults.
func (r *Runtime) Processor() stream.Processor { return r.proc }

// Advertise sets Config.Endpoint, for a process that learns its port after New. Call it before Run.
func (r *Runtime) Advertise(endpoint string) { r.cfg.Endpoint = endpoint }

// Partitions returns the number of tasks of the processor; 0 before Run.
func (r *Runtime) Partitions() int32 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.parts
}

// Status lists the tasks that this process owns or keeps warm, by partition.
func (r *Runtime) Status() []Status {
	var all []Status
	for _, v := range r.snapshots {
		all = append(all, v.get()...)
	}
	slices.SortFunc(all, func(a, b Status) int { return int(a.Partition - b.Partition) })
	return all
}

// maxDamages is the number of damaged stores after which the disk is to blame.
const maxDamages = 3
