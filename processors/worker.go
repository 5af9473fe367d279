package processors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/internal/group"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/txn"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// errRebuild ends a session whose state is unknown: the next session ends its transaction.
var errRebuild = errors.New("outcome unknown: rebuilding the session")

// worker runs the tasks that it owns in one transactional session after another.
type worker struct {
	id    int
	cfg   *Config
	proc  *stream.Processor
	store *store.Store
	// searching is held by the worker of this process that looks for transactions to end.
	searching  *sync.Mutex
	standby    *standby
	txnID      string
	partitions int32 // partitions of the processor
	log        zerolog.Logger

	wake        kafka.Wake
	partitioner *txn.Partitioner

	admin      *kgo.Client // for requests outside of the session
	sess       *kgo.GroupTransactSession
	guard      *leftoverGuard
	outcomes   txn.Outcomes // of txnID
	sessionLog *sessionLog
	tasks      map[int32]*task
	open       bool // a transaction is open
	began      time.Time
	count      int // records folded in the open transaction
	interval   time.Duration
	backlogged bool // more records are unread than the last transaction took, see measureBacklog
	looking    bool // a goroutine looks for instructions to skip
	looked     time.Time

	assignment assignment  // since the last rebalance
	joined     atomic.Bool // the group has given this worker an assignment
	// rebalanceRequests counts the rebalances that the worker has requested.
	rebalanceRequests atomic.Uint32
	mailbox           mailbox // from callbacks, takeovers and Ask, run in the loop
	askErr            error   // of a question that panicked: the step aborts with it
	final             error   // of a takeover: the worker ends with it
	directory         directory
	owners            *ownerCache
	restores          sync.WaitGroup
	scratch           []stream.Record
	records           []kgo.Record  // of the open transaction
	commits           []*taskCommit // of the transaction that is being committed
	revoked           bool          // partitions were revoked since the last End, so the next End aborts
	blocked           chan struct{} // signalled when a rebalance waits for the open transaction

	snapshot *statusSnapshot
	timing   txnTiming
}

func newWorker(id int, cfg *Config, proc *stream.Processor, s *store.Store) *worker {
	return &worker{
		id: id, cfg: cfg, proc: proc, store: s, searching: &sync.Mutex{},
		txnID: fmt.Sprintf("%s-%s-%d", proc.App, cfg.Instance, id), partitioner: txn.NewPartitioner(proc.Outputs),
		sessionLog: &sessionLog{clientLog: clientLog{*cfg.Log}},
		log:        cfg.Log.With().Str("app", proc.App).Int("worker", id).Logger(),
		tasks:      map[int32]*task{},
		blocked:    make(chan struct{}, 1),
		interval:   cfg.CommitInterval,
	}
}

// run runs sessions until ctx ends or a session returns an error that a retry cannot fix.
func (w *worker) run(ctx context.Context) error {
	const least = 50 * time.Millisecond
	for wait := least; ; wait = min(2*wait, 5*time.Second) {
		began := time.Now()
		err := w.session(ctx)
		if ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, errRebuild)) {
			err = nil // the next process ends the open transaction
		}
		if errors.Is(err, kafka.ErrInstance) || errors.Is(context.Cause(ctx), kafka.ErrInstance) {
			return err // the memberships of all workers are the other process's, or will be: do not end them
		}
		if ctx.Err() != nil || !errors.Is(err, errRebuild) {
			return errors.Join(err, w.leaveGroup(ctx))
		}
		w.log.Warn().Err(err).Msg("session_rebuilt")
		w.cfg.Metrics.Commits.WithLabelValues(w.proc.App, "unknown").Inc()
		if time.Since(began) > 30*time.Second {
			wait = least
		}
		if !pause.For(ctx, wait) {
			return w.leaveGroup(ctx)
		}
	}
}

// session runs one session. It returns nil when ctx ends, errRebuild when the outcome of a
// transaction is unknown, and other errors that are final.
func (w *worker) session(ctx context.Context) (err error) {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx)) // takeovers end with the session
	kill := func() { end(nil) }
	if err := w.connect(ctx, life, end); err != nil {
		kill()
		return err
	}
	w.restores.Go(func() {
		select {
		case <-life.Done():
			return
		case <-ctx.Done():
		}
		if pause.For(life, w.cfg.StopTimeout) {
			w.log.Warn().Dur("stop_timeout_ms", w.cfg.StopTimeout).Msg("commit_abandoned")
			kill() // ends the commit, whose transaction the next session of this name aborts
		}
	})
	w.restores.Go(func() { w.endHanging(life) })
	defer func() {
		kill()
		w.sess.Client().CloseAllowingRebalance()
		w.drainMailbox()
		w.dropTasks(w.owned())
		w.restores.Wait()
		w.drainMailbox()
		w.dropTasks(w.owned()) // tasks of a late callback
		w.admin.Close()
	}()
	for {
		if ctx.Err() != nil {
			return w.stopGracefully(life)
		}
		if err := w.step(ctx, life); err != nil {
			return err
		}
	}
}

// connect ends the open transaction of the worker's transactional id, and starts a session. life
// ends with the session, and end ends it.
func (w *worker) connect(ctx, life context.Context, end func(error)) (err error) {
	if w.admin, err = w.cfg.Kafka.Client(); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer func() {
		if err != nil {
			w.admin.Close()
		}
	}()
	if err := w.nameTaken(ctx); err != nil {
		return err
	}
	if err := w.endLast(ctx); err != nil {
		switch why := kafka.RefusalOf(err); {
		// they were right at the start: they are being changed
		case why == kafka.BadCredentials, why == kafka.NoPermission && w.joined.Load():
			return fmt.Errorf("%w: %w", errRebuild, err)
		}
		return err
	}
	w.guard = &leftoverGuard{
		ctx: life, log: w.log, check: w.recovery().Leftover, hold: w.cfg.SessionTimeout / 3, busy: make(chan struct{}, 1),
		found: func() { end(fmt.Errorf("%w: the last transaction hangs", errRebuild)) },
	}
	opts := append([]kgo.Opt{
		kgo.SeedBrokers(w.cfg.Kafka.Brokers...), kgo.ClientID("weir"),
		kgo.ConsumerGroup(w.proc.App), kgo.InstanceID(w.txnID), kgo.ConsumeTopics(w.proc.Inputs...),
		kgo.TransactionalID(w.txnID), kgo.TransactionTimeout(w.cfg.TransactionTimeout),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.ConsumeStartOffset(kgo.NewOffset().AtStart()), kgo.AdjustFetchOffsetsFn(w.cfg.Kafka.ExplicitStarts),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.Balancers(
			group.Assignor{
				Inputs: w.proc.Inputs, Partitions: w.partitions, Standbys: w.cfg.Standbys, MemberMetadata: w.memberMetadata,
				OnAssignment: w.onAssignment,
			}), kgo.BlockRebalanceOnPoll(),
		kgo.SessionTimeout(w.cfg.SessionTimeout), kgo.HeartbeatInterval(w.cfg.heartbeatInterval()), kgo.RebalanceTimeout(30 * time.Second),
		// A partition that is resumed waits for the fetch in progress, so FetchMaxWait bounds a
		// takeover.
		kgo.FetchMaxWait(250 * time.Millisecond), kgo.FetchMaxBytes(w.cfg.FetchBytes), kgo.FetchMaxPartitionBytes(w.cfg.FetchBytes),
		kgo.MaxDecompressBatchBytes(kafka.MaxBatchBytes),
		kgo.MaxBufferedRecords(1 << 21), kgo.MaxBufferedBytes(512 << 20), kgo.ProducerLinger(0), kgo.ProducerBatchMaxBytesFn(w.batchMax),
		kgo.ProducerBatchCompression(kgo.Lz4Compression(), kgo.NoCompression()),
		w.partitioner.Option(),
		kgo.OnPartitionsAssigned(w.onAssigned), kgo.OnPartitionsRevoked(w.onRevoked), kgo.OnPartitionsLost(w.onRevoked),
		kgo.OnPartitionsCallbackBlocked(func(context.Context, *kgo.Client) {
			select {
			case w.blocked <- struct{}{}:
			default:
			}
		}),
	}, append(slices.Clip(w.cfg.Kafka.Options), kgo.WithLogger(w.sessionLog), kgo.WithHooks(w.guard))...)
	w.open, w.count, w.revoked, w.backlogged, w.interval, w.records, w.askErr = false, 0, false, false, w.cfg.CommitInterval, nil, nil
	if w.sess, err = kgo.NewGroupTransactSession(opts...); err != nil {
		return fmt.Errorf("start session: %w", err)
	}
	return nil
}

// endLast ends the last transaction of the worker's transactional id in all partitions.
func (w *worker) endLast(ctx context.Context) error {
	found := w.endLeftover(ctx)
	if err := txn.EndOpen(ctx, w.admin, w.txnID, w.cfg.TransactionTimeout); err != nil {
		return err
	}
	if found != txn.Nothing {
		w.endLeftover(ctx) // what was open is aborted now, and may hang, too
	}
	return nil
}

func (w *worker) endLeftover(ctx context.Context) txn.Leftover {
	found, err := w.recovery().EndLeftover(ctx, &w.outcomes)
	if err != nil && ctx.Err() == nil {
		w.log.Warn().Err(err).Msg("hanging_transaction_scan_failed")
	}
	return found
}

// nameTaken returns ErrInstance if the membership that this worker had is another process's now. A
// process that starts takes the memberships of its name, since its predecessor may have been
// killed. Its predecessor, if it lives, loses its transactions first, and must not take the
// memberships again: of two processes with several workers, each would lose one to the other, and
// both would end. That remains possible if the other process joins between the answer and the new
// session of this one.
func (w *worker) nameTaken(ctx context.Context) error {
	if !w.joined.Load() || w.cfg.Endpoint == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	members, err := group.DescribeMembers(ctx, kadm.NewClient(w.admin), w.proc.App)
	if err != nil {
		return nil // not known: the group fences one of the two
	}
	for _, m := range members {
		if m.InstanceID == nil || *m.InstanceID != w.txnID {
			continue
		}
		metadata, err := decodeMember(m)
		if err == nil && metadata.GetEndpoint() != "" && metadata.GetEndpoint() != w.cfg.Endpoint {
			return fmt.Errorf(
				"%w: another process joined group %s as %s, and its address is %s: each process needs an instance name of its own",
				kafka.ErrInstance, w.proc.App, w.txnID, metadata.GetEndpoint())
		}
	}
	return nil
}

// batchMax returns the largest batch for a topic. A dead letter is larger than the input record
// that it contains.
func (w *worker) batchMax(topic string) int32 {
	if topic == w.proc.DLQ {
		return 2*maxDeadLetter - 4096
	}
	return 1 << 20
}

// onAssigned runs on the client's goroutine before any fetch of the new partitions, which stay
// paused until they are restored. It is called at the end of every rebalance, also without new
// partitions.
func (w *worker) onAssigned(_ context.Context, cl *kgo.Client, got map[string][]int32) {
	ps, all := group.Partitions(got), w.assignment.get()
	cl.PauseFetchPartitions(got)
	w.mailbox.post(func() {
		var gone []int32
		for p := range w.tasks {
			if !slices.Contains(all, p) || slices.Contains(ps, p) {
				gone = append(gone, p)
			}
		}
		w.dropTasks(gone)
		w.addTasks(ps)
	})
}

// onRevoked only posts to the mailbox. Rebalances are blocked while a transaction has records, so
// no transaction with records of a revoked partition is open.
func (w *worker) onRevoked(_ context.Context, _ *kgo.Client, gone map[string][]int32) {
	ps := group.Partitions(gone)
	if len(ps) == 0 {
		return
	}
	w.mailbox.post(func() {
		w.revoked = true
		w.dropTasks(ps)
	})
}

func (w *worker) owned() []int32 {
	var ps []int32
	for p := range w.tasks {
		ps = append(ps, p)
	}
	slices.Sort(ps)
	return ps
}

func (w *worker) addTasks(ps []int32) {
	for _, p := range ps {
		t := &task{
			p: p, cancel: func() {}, poison: map[recordPos]string{}, foldSingly: map[string]int64{},
			failedFetches: map[string]*kafka.FailedFetch{},
		}
		t.changes.SetOutputs(w.proc.Outputs)
		w.tasks[p] = t
		w.log.Info().Int32("partition", p).Msg("partition_assigned")
	}
	w.publish()
}

// dropTasks releases partitions. A takeover in progress releases its partition when it ends.
func (w *worker) dropTasks(ps []int32) {
	for _, p := range ps {
		t := w.tasks[p]
		if t == nil {
			continue
		}
		delete(w.tasks, p)
		t.cancel()
		w.discardHandler(t)
		if t.ownsStore && t.state != taskRestoring { // a takeover releases it
			w.store.Release(p)
		}
		w.log.Info().Int32("partition", p).Msg("partition_released")
	}
	w.publish()
}

func (w *worker) drainMailbox() {
	for _, f := range w.mailbox.take() {
		f()
	}
}

// step is one turn of the loop: poll, run the mailbox, fold, and commit if a commit is due.
func (w *worker) step(ctx, life context.Context) error {
	if err := context.Cause(life); errors.Is(err, errRebuild) {
		return err
	}
	if (!w.open || w.count == 0) && w.needsNewSession() {
		return fmt.Errorf("%w: the group has its offsets again", errRebuild)
	}
	if err := w.stopUnreadable(ctx); err != nil {
		return err
	}
	w.lookForSkips(life)
	w.retryFetches()
	if err := w.begin(); err != nil {
		return err
	}
	fetches := w.poll(ctx)
	w.drainMailbox()
	if w.final != nil {
		return w.final
	}
	if w.assignment.isOverdue() {
		w.log.Warn().Msg("rebalance_overdue")
		w.requestRebalance()
	}
	failed := errors.Join(w.fetchErrors(ctx, fetches), w.askErr)
	w.askErr = nil
	if w.revoked && w.count == 0 && failed == nil {
		// A revoke since the last End makes the client abort at the next End. This transaction is
		// still empty, so End is called now. The records that were just polled are polled again.
		return w.clearRevoked(life)
	}
	err := failed
	if err == nil {
		err = w.foldAll(fetches)
	}
	switch {
	case errors.Is(err, errRebuild), errors.Is(err, kafka.ErrInstance):
		return err
	case err != nil:
		return w.abort(life, err)
	case w.due():
		return w.commit(life)
	case w.count == 0:
		w.backlogged = false
		w.sess.AllowRebalance()
	}
	return w.flushBuffered()
}

// needsNewSession reports whether a new session is needed, which fetches offsets that the group had
// lost and has again. It waits for takeovers in progress, which may need the same.
func (w *worker) needsNewSession() bool {
	forgot := false
	for _, t := range w.tasks {
		if t.repairOffsets || t.state == taskBarrier || t.state == taskRestoring {
			return false
		}
		forgot = forgot || t.offsetsExpired
	}
	return forgot
}

func (w *worker) begin() error {
	if w.open {
		return nil
	}
	if err := w.sess.Begin(); err != nil {
		return fmt.Errorf("%w: begin: %w", errRebuild, err)
	}
	w.open, w.began, w.count = true, time.Now(), 0
	w.timing.reset(w.began)
	w.sessionLog.reset()
	return nil
}

func (w *worker) clearRevoked(life context.Context) error {
	ctx, cancel := w.endContext(life)
	defer cancel()
	_, err := w.sess.End(ctx, kgo.TryAbort)
	w.open, w.revoked = false, false
	w.sess.AllowRebalance()
	if err != nil {
		return fmt.Errorf("%w: end of an empty transaction: %w", errRebuild, err)
	}
	return nil
}

// poll waits for records until the next commit is due.
func (w *worker) poll(ctx context.Context) kgo.Fetches {
	defer addElapsed(&w.timing.poll, time.Now())
	w.wake.Look(w.sess.Client())
	until := w.began.Add(w.interval)
	if w.count == 0 {
		until = time.Now().Add(w.cfg.CommitInterval)
	}
	pctx, cancel := context.WithDeadline(ctx, until)
	defer cancel()
	defer w.mailbox.interrupt(nil)
	if w.mailbox.interrupt(cancel) {
		// Take what has been fetched, and do not wait. A context that has ended would take nothing,
		// and a task that is woken all the time would read nothing.
		return w.sess.PollRecords(nil, w.cfg.PollRecords) //nolint:staticcheck,contextcheck // a nil context does not wait
	}
	return w.sess.PollRecords(pctx, w.cfg.PollRecords)
}

// foldAll folds the records of each partition in its task.
func (w *worker) foldAll(fetches kgo.Fetches) error {
	defer addElapsed(&w.timing.fold, time.Now())
	now := time.Now().UnixMilli()
	var failed error
	fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
		if failed != nil || len(fp.Records) == 0 {
			return
		}
		t := w.tasks[fp.Partition]
		if t == nil || t.state != taskRunning {
			// A commit would skip these records. Paused partitions return no records, so this does
			// not happen.
			failed = fmt.Errorf("%w: got records of %s[%d], which is not running", errRebuild, fp.Topic, fp.Partition)
			return
		}
		end := w.cfg.replay.End(fp.Topic, fp.Partition)
		w.scratch = t.take(fp.Topic, fp.Records, w.cfg.replay, w.scratch[:0])
		w.passSkips(t, fp.Topic, fp.Records)
		if t.next[fp.Topic] >= end {
			w.sess.Client().PauseFetchPartitions(map[string][]int32{fp.Topic: {fp.Partition}})
		}
		t.lag = max(0, fp.HighWatermark-t.next[fp.Topic])
		w.count += len(fp.Records)
		if len(w.scratch) == 0 {
			return
		}
		w.timing.observeBatch(w.scratch)
		t.newest = w.scratch[len(w.scratch)-1].TimeMs
		failed = t.foldTimed(&stream.Batch{Topic: fp.Topic, Partition: fp.Partition, Records: w.scratch, NowMs: now}, w.cfg.PoisonLimit)
	})
	return failed
}

// due reports whether the open transaction should end now.
func (w *worker) due() bool {
	age := time.Since(w.began)
	if w.count > 0 {
		select {
		case <-w.blocked: // a rebalance waits for this transaction
			return true
		default:
		}
	}
	if w.count >= w.cfg.CommitRecords || w.count > 0 && (age >= w.interval || w.pendingBytes() >= w.cfg.CommitBytes/w.cfg.Workers) {
		return true
	}
	now := time.Now()
	for _, t := range w.tasks {
		if t.state == taskBarrier || t.state == taskRunning && t.due(now, w.cfg.Tick) {
			return true
		}
	}
	return false
}

// woken reports whether a running task was woken since its last Flush.
func (w *worker) woken() bool {
	for _, t := range w.tasks {
		if t.state == taskRunning && t.inbox.woken.Load() {
			return true
		}
	}
	return false
}

// pendingBytes estimates the bytes that the open transaction will write.
func (w *worker) pendingBytes() (n int) {
	for _, t := range w.tasks {
		if s, ok := t.handler.(stream.PendingSizer); ok {
			n += s.PendingBytes()
		}
		if t.timers != nil {
			n += t.timers.bytes
		}
	}
	return n
}

// fetchErrors stops partitions whose input cannot be read, and returns errors that end the session.
func (w *worker) fetchErrors(ctx context.Context, fetches kgo.Fetches) error {
	var failed []error
	fetches.EachError(func(topic string, p int32, err error) {
		switch { // each error: the client reports many only once
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		case errors.Is(err, kgo.ErrClientClosed):
			failed = append(failed, fmt.Errorf("%w: %w", errRebuild, err))
		case errors.Is(err, kerr.FencedInstanceID):
			failed = append(failed,
				fmt.Errorf("%w: another process joined group %s as %s: each process needs an instance name of its own", kafka.ErrInstance,
					w.proc.App, w.txnID))
		case topic == "" || p < 0 || w.tasks[p] == nil:
			w.log.Warn().Err(err).Str("topic", topic).Msg("fetch_failed")
		default:
			failed = append(failed, w.fetchFailed(ctx, w.tasks[p], topic, err))
		}
	})
	return errors.Join(failed...)
}
