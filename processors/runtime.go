package processors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/failpoint"
	"github.com/weirhq/weir/stream"
)

// Runtime runs one Processor in this process.
type Runtime struct {
	cfg   Config
	proc  stream.Processor
	pulse *pulse

	mu      sync.RWMutex
	store   *store // nil before Run and after it
	viewers []*viewer
	parts   int32
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
	cfg.setDefaults()
	if !stream.ValidName(cfg.Instance) {
		return nil, fmt.Errorf("instance %q is not a legal name: use letters, digits, '.', '_' or '-'", cfg.Instance)
	}
	if cfg.CommitMax < cfg.CommitInterval {
		cfg.CommitMax = cfg.CommitInterval
	}
	if cfg.CommitMax*2 > cfg.TransactionTimeout {
		return nil, fmt.Errorf("commit_interval_max %s is more than half of transaction_timeout %s: a commit that is only slow would be aborted", cfg.CommitMax, cfg.TransactionTimeout)
	}
	r := &Runtime{cfg: cfg, proc: proc, pulse: newPulse()}
	r.cfg.Kafka.Options = append(slices.Clip(cfg.Kafka.Options), kgo.WithHooks(r.pulse))
	for i := range cfg.Workers {
		r.viewers = append(r.viewers, &viewer{app: proc.App, worker: strconv.Itoa(i), metrics: cfg.Metrics})
	}
	r.viewers = append(r.viewers, &viewer{app: proc.App, worker: StateStandby, metrics: cfg.Metrics})
	return r, nil
}

// Run works until ctx ends, then commits what is folded, leaves the group and closes the store. It returns nil after a
// clean stop.
func (r *Runtime) Run(ctx context.Context) (err error) {
	if hook := failpoint.HookFrom(ctx); hook != nil { // a test decides how far it gets
		r.cfg.edge = func(_ *worker, at string) error { return hook(failpoint.Point(at)) }
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
		if err = r.live(ctx, parts); !isDamage(err) {
			return err
		}
		if n == maxDamages {
			return fmt.Errorf("%w: the store was damaged %d times, the last time: %w", ErrDisk, n, err)
		}
	}
}

// live works on one store, until ctx ends or it turns out to be damaged.
func (r *Runtime) live(ctx context.Context, parts int32) (err error) {
	s, err := openStore(r.cfg.database(), r.proc.App) //nolint:contextcheck // the database wants one for files that are not local; there are none
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
		err = s.end(r.cfg.database(), err)
	}()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.awaitFailure(ctx) })
	follower := newStandby(&r.cfg, &r.proc, s, r.viewers[r.cfg.Workers])
	group.Go(func() error { return follower.run(ctx) })
	searching := &sync.Mutex{}
	for i := range r.cfg.Workers {
		w := newWorker(i, &r.cfg, &r.proc, s)
		w.searching = searching
		w.view, w.total, w.standby = r.viewers[i], parts, follower
		if i == 0 {
			follower.rebalance = func() { w.news.post(func() { w.sess.Client().ForceRebalance() }) }
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
	version, err := TransactionVersion(ctx, cl)
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
	return awaitTopics(ctx, &r.proc, adm)
}

// topicsWait is how long a start waits for topics: those made a moment ago are not known to every broker yet.
const topicsWait = 5 * time.Second

// awaitTopics is partitions, with patience for topics that are missing.
func awaitTopics(ctx context.Context, p *stream.Processor, adm *kadm.Client) (n int32, err error) {
	until := time.Now().Add(topicsWait)
	for {
		n, err = partitions(ctx, p, adm)
		if !errors.Is(err, kerr.UnknownTopicOrPartition) && !errors.Is(err, kerr.LeaderNotAvailable) || time.Now().After(until) {
			return n, err
		}
		if pause(ctx, 200*time.Millisecond); ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
}

// partitions checks that all topics exist and are co-partitioned.
func partitions(ctx context.Context, p *stream.Processor, adm *kadm.Client) (int32, error) {
	names := append([]string{p.Changelog, p.DLQ}, p.Inputs...)
	list, err := adm.ListTopics(ctx, append(names, p.Outputs...)...)
	if err != nil {
		return 0, fmt.Errorf("read topics: %w", err)
	}
	for _, t := range list.Sorted() {
		if t.Err != nil {
			return 0, fmt.Errorf("%w: topic %s: %w: create the topics with `weir topics apply`", ErrTopics, t.Topic, t.Err)
		}
	}
	want, as := len(list[p.Inputs[0]].Partitions), p.Inputs[0]+" has"
	if p.Partitions > 0 {
		want, as = int(p.Partitions), p.App+" needs"
	}
	for _, t := range list.Sorted() {
		joined := t.Topic == p.Changelog || t.Topic == p.DLQ || slices.Contains(p.Inputs, t.Topic)
		if joined && len(t.Partitions) != want {
			return 0, fmt.Errorf("%w: %s has %d partitions, %s %d: they must be equal, because partition p of each belongs to task p. Nothing was changed; another number of partitions needs new topics, with the state moved to them", ErrTopics, t.Topic, len(t.Partitions), as, want)
		}
	}
	return int32(want), nil
}

// TransactionVersion asks the brokers which transaction protocol they finalised; 0 if they do not say.
func TransactionVersion(ctx context.Context, cl *kgo.Client) (int16, error) {
	v, err := apiFeatures(ctx, cl)
	if err != nil {
		return 0, fmt.Errorf("ask the brokers for their features: %w", err)
	}
	return v["transaction.version"], nil
}

// Snapshot is committed state at one moment. Close it.
type Snapshot struct {
	snap    *pebble.Snapshot
	done    func()
	store   *store
	essence essence
}

// ErrNotRunning says that the runtime has no store open.
var ErrNotRunning = errors.New("the processor is not running")

// Snapshot gives committed state as it is now.
func (r *Runtime) Snapshot() (*Snapshot, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.store == nil {
		return nil, ErrNotRunning
	}
	return &Snapshot{done: r.store.reading(), snap: r.store.db.NewSnapshot(), store: r.store, essence: r.proc.Canonical}, nil
}

// Checkpoint writes a copy of the store to dir, which must not exist. It shares the files that have not changed since. It returns
// ErrNotRunning while Run is not at work.
func (r *Runtime) Checkpoint(dir string) error {
	r.mu.RLock()
	s := r.store
	if s == nil {
		r.mu.RUnlock()
		return ErrNotRunning
	}
	done := s.reading()
	r.mu.RUnlock()
	defer done()
	return s.checkpoint(dir)
}

// Close releases the snapshot.
func (s *Snapshot) Close() error {
	defer s.done()
	return s.snap.Close()
}

// Get reads a key of a table in a partition; nil if there is none.
func (s *Snapshot) Get(partition int32, table byte, key []byte) ([]byte, error) {
	return get(s.snap, storeKey(partition, table, key))
}

// Scan calls fn for each key of a table that begins with prefix, in order.
func (s *Snapshot) Scan(partition int32, table byte, prefix []byte, fn func(key, value []byte) error) error {
	return scan(s.snap, storeKey(partition, table, prefix), fn)
}

// Meta says as of what a partition's state is; its Marker is nil for one that never committed.
func (s *Snapshot) Meta(partition int32) (*changelogpb.TaskMeta, error) {
	return s.store.meta(s.snap, partition)
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
	for _, v := range r.viewers {
		all = append(all, v.get()...)
	}
	slices.SortFunc(all, func(a, b Status) int { return int(a.Partition - b.Partition) })
	return all
}
