package processors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/processors/internal/failpoint"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Runtime runs one Processor in this process.
type Runtime struct {
	cfg      Config
	given    Config // as New completed it: Run changes cfg, and Config may be called by any goroutine
	proc     stream.Processor
	liveness *brokerLiveness

	mu        sync.RWMutex
	store     *store.Store // nil before Run and after it
	snapshots []*statusSnapshot
	parts     int32
}

// New checks what can be checked without a broker. It starts nothing.
func New(cfg Config, proc stream.Processor) (*Runtime, error) {
	if err := proc.Complete(); err != nil {
		return nil, err
	}
	if len(cfg.Kafka.Brokers) == 0 {
		return nil, errors.New("no Kafka brokers: set kafka.brokers")
	}
	if cfg.Dir == "" {
		return nil, errors.New("no state directory: set data_dir")
	}
	cfg.Complete()
	if !stream.ValidName(cfg.Instance) {
		return nil, fmt.Errorf("instance %q is not a legal name: use letters, digits, '.', '_' or '-'", cfg.Instance)
	}
	if cfg.CommitIntervalMax < cfg.CommitInterval {
		cfg.CommitIntervalMax = cfg.CommitInterval
	}
	if cfg.CommitIntervalMax*2 > cfg.TransactionTimeout {
		return nil, fmt.Errorf("commit_interval_max %s is more than half of transaction_timeout %s: a commit that is only slow would be aborted", cfg.CommitIntervalMax, cfg.TransactionTimeout)
	}
	r := &Runtime{cfg: cfg, given: cfg, proc: proc, liveness: newBrokerLiveness()}
	r.cfg.Kafka.Options = append(slices.Clip(cfg.Kafka.Options), kgo.WithHooks(r.liveness))
	for i := range cfg.Workers {
		r.snapshots = append(r.snapshots, &statusSnapshot{app: proc.App, worker: strconv.Itoa(i), metrics: cfg.Metrics})
	}
	r.snapshots = append(r.snapshots, &statusSnapshot{app: proc.App, worker: StateStandby, metrics: cfg.Metrics})
	return r, nil
}

// Run works until ctx ends, then commits what is folded, leaves the group and closes the store. It returns nil after a
// clean stop.
func (r *Runtime) Run(ctx context.Context) (err error) {
	if hook := failpoint.HookFrom(ctx); hook != nil { // a test decides how far it gets
		r.cfg.failpoint = func(_ *worker, at string) error { return hook(failpoint.Point(at)) }
	}
	parts, err := r.preflight(ctx)
	if err != nil {
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			err = nil // it was stopped before it had begun
		}
		return err
	}
	// The connection is set up right, preflight used it. From now on an end of file in its first answer is a broker or a
	// proxy that restarts, not TLS missing: without the option a group's heartbeat gives up on it.
	r.cfg.Kafka.Options = append(slices.Clip(r.cfg.Kafka.Options), kgo.AlwaysRetryEOF(), kgo.WithLogger(clientLog{*r.cfg.Log}))
	for n := 1; ; n++ {
		if err = r.runStore(ctx, parts); !store.IsDamage(err) {
			return err
		}
		if n == maxDamages {
			return fmt.Errorf("%w: the store was damaged %d times, the last time: %w", ErrDisk, n, err)
		}
	}
}

// runStore works on one store, until ctx ends or it turns out to be damaged.
func (r *Runtime) runStore(ctx context.Context, parts int32) (err error) {
	s, err := store.Open(r.cfg.database(), r.proc.App) //nolint:contextcheck // the database wants one for files that are not local; there are none
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.store, r.parts = s, parts
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		r.store = nil
		r.mu.Unlock()
		err = s.CloseAfter(r.cfg.database(), err)
	}()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.AwaitFailure(ctx) })
	follower := newStandby(&r.cfg, &r.proc, s, r.snapshots[r.cfg.Workers])
	group.Go(func() error { return follower.run(ctx) })
	searching := &sync.Mutex{}
	for i := range r.cfg.Workers {
		w := newWorker(i, &r.cfg, &r.proc, s)
		w.searching = searching
		w.snapshot, w.partitions, w.standby = r.snapshots[i], parts, follower
		if i == 0 {
			follower.rebalance = func() { w.mailbox.post(func() { w.sess.Client().ForceRebalance() }) }
		}
		group.Go(func() error { return w.run(ctx) })
	}
	return group.Wait()
}

// preflight looks at the brokers before anything is touched.
func (r *Runtime) preflight(ctx context.Context) (int32, error) {
	cl, err := r.cfg.Kafka.Client()
	if err != nil {
		return 0, fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	version, err := kafka.TransactionVersion(ctx, cl)
	if err != nil {
		return 0, err
	}
	if version < 2 && !r.cfg.AllowOldTransactions {
		return 0, fmt.Errorf("%w: the brokers finalised transaction.version %d: below 2 a late request of a dead transaction can land in the next one (KIP-890). Upgrade with kafka-features.sh upgrade --feature transaction.version=2, or set processor.allow_old_transactions", ErrTransactions, version)
	}
	adm := kadm.NewClient(cl)
	brokers, err := adm.ListBrokers(ctx)
	if err != nil {
		return 0, fmt.Errorf("list brokers: %w", err)
	}
	r.cfg.FetchBytes = max(1<<20, r.cfg.FetchBytes/int32(max(1, len(brokers))))
	return AwaitTopics(ctx, &r.proc, adm)
}

// Partitions is the number of tasks of the processor; 0 before Run.
func (r *Runtime) Partitions() int32 {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.parts
}

// Status lists the tasks that this process owns or keeps warm, in order.
func (r *Runtime) Status() []Status {
	var all []Status
	for _, v := range r.snapshots {
		all = append(all, v.get()...)
	}
	slices.SortFunc(all, func(a, b Status) int { return int(a.Partition - b.Partition) })
	return all
}

// maxDamages is how many damaged stores a process sets aside before it says that the disk is to blame.
const maxDamages = 3
