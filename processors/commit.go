package processors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/txn"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// taskCommit is one task's part of the transaction that is being committed.
type taskCommit struct {
	task     *task
	marker   *changelogpb.Marker
	markerAt int64 // the marker's offset in the changelog, once acknowledged
	err      error // of a record that no broker will ever accept
	// Where apply has put the changes: deferred, in the write buffer; flushed, in the store, after
	// what was in the buffer.
	deferred, flushed bool
}

// transaction is what a worker produces: the changes of tasks, and the barriers of takeovers.
type transaction struct {
	parts    []*taskCommit
	barriers []*task
}

// commit commits the open transaction: it produces changes and markers, calls End, and then writes
// the store.
//
// A crash at a failpoint leaves the brokers and the store in different states. TestCrashes kills at
// each.
func (w *worker) commit(life context.Context) error {
	parts, barriers, err := w.flushTasks()
	if err != nil {
		return w.abort(life, err)
	}
	w.commits = parts
	w.measureBacklog()
	w.timing.countChanges(parts)
	if len(parts) == 0 && len(barriers) == 0 {
		return w.endIdleTurn()
	}
	if err := w.cfg.failpoint(w, "flushed"); err != nil {
		return err
	}
	ctx, cancel := w.endContext(life)
	defer cancel()
	acked := txn.NewAcks(w.sess.Client())
	w.guard.begin()
	w.produce(ctx, transaction{parts, barriers}, acked)
	if err := w.cfg.failpoint(w, "produced"); err != nil {
		return err
	}
	began := time.Now()
	want := kgo.TryCommit
	ctx = kgo.PreTxnCommitFnContext(ctx,
		func(req *kmsg.TxnOffsetCommitRequest) error { return fence(req, parts, w.proc.Changelog, w.partitions) })
	if err := w.sess.Client().Flush(ctx); err != nil || acked.Wait() != nil {
		want = kgo.TryAbort
	}
	if err := w.cfg.failpoint(w, "written"); err != nil {
		return err
	}
	// A heartbeat that fails while rebalances are blocked does not end the session, and End waits
	// for the next heartbeat. So rebalances are allowed after a while. A revoke inside End aborts
	// the transaction.
	unblock := time.AfterFunc(w.cfg.SessionTimeout/3, w.sess.AllowRebalance)
	committed, err := w.end(ctx, func() (bool, error) { return w.endTransaction(ctx, want) })
	unblock.Stop()
	w.open = false
	w.phase("end", began)
	if kill := w.cfg.failpoint(w, "ended"); kill != nil {
		return kill
	}
	if err != nil {
		w.trace("unknown", err.Error())
		// Without the brokers, the outcome of a record that was sent stays unknown until they are
		// back. So this does not wait for it.
		return fmt.Errorf("%w: end of transaction: %w", errRebuild, errors.Join(err, acked.Err()))
	}
	if !committed {
		reason, cause := w.abortCause(acked.Wait())
		w.recordOutcome(reason)
		w.log.Warn().Str("reason", reason).Err(cause).Msg("transaction_aborted")
		w.restartTasks(parts)
		if errors.Is(cause, kerr.UnknownTopicID) {
			// The topic was created again. The client keeps the topic id that it has, so only the
			// next session can write to the new topic.
			return fmt.Errorf("%w: the topic was deleted or created again: %w", errRebuild, cause)
		}
		err := w.delayRefused(transaction{parts, barriers}, cause)
		w.sess.AllowRebalance()
		return err
	}
	if len(parts) > 0 {
		w.cfg.committed.Store(true)
	}
	if err := w.apply(parts); err != nil {
		return err
	}
	if err := w.cfg.failpoint(w, "applied"); err != nil {
		return err
	}
	w.reportCommits(parts)
	w.recordOutcome("")
	w.restore(life, barriers)
	w.adaptInterval()
	w.publish()
	w.sess.AllowRebalance()
	return nil
}

// delayRefused handles an abort whose cause may be a missing right. The next try of its tasks
// waits, because the right may be granted again. A process that has never committed ends: it never
// had the right.
func (w *worker) delayRefused(tx transaction, cause error) error {
	if kafka.RefusalOf(cause) != kafka.NoPermission {
		return nil
	}
	if !w.cfg.committed.Load() {
		return fmt.Errorf("write the first transaction of %s: %w", w.proc.App, cause)
	}
	for _, part := range tx.parts {
		part.task.refuse(cause)
	}
	for _, t := range tx.barriers {
		t.refuse(cause)
	}
	w.publish()
	return nil
}

// end calls end, which ends the transaction, and remembers a commit. An abort is not remembered:
// the client also reports one if it does not know the outcome.
func (w *worker) end(ctx context.Context, end func() (bool, error)) (committed bool, err error) {
	id, epoch, unknown := w.sess.Client().ProducerID(ctx)
	if unknown == nil {
		w.outcomes.Unknown(id, epoch)
	}
	if committed, err = end(); err != nil {
		return committed, err
	}
	if w.guard.end(); committed && unknown == nil {
		w.outcomes.Committed(id, epoch)
	}
	return committed, nil
}

// endTransaction ends the transaction with its offsets. A transaction of barriers alone has no
// offsets, and so the client's session does not learn that the broker supports KIP-447, and waits
// for half a second. Such a transaction ends outside of the session. It is not fenced by the group
// generation, and need not be: a barrier only shows its writer what came before.
func (w *worker) endTransaction(ctx context.Context, want kgo.TransactionEndTry) (committed bool, err error) {
	if want == kgo.TryAbort || len(w.commits) > 0 {
		return w.sess.End(ctx, want)
	}
	switch err := w.sess.Client().EndTransaction(ctx, want); {
	case errors.Is(err, kerr.OperationNotAttempted), errors.Is(err, kerr.TransactionAbortable):
		return w.sess.End(ctx, kgo.TryAbort)
	default:
		return err == nil, err
	}
}

// endContext returns the context of an End. Its deadline is long after the transaction timeout, so
// that a session does not hang while its broker is down. The next session ends what is left open.
// life ends before it at the end of StopTimeout.
func (w *worker) endContext(life context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(life, 3*w.cfg.TransactionTimeout)
}

// measureBacklog sets backlogged: whether the brokers have more unread records than the open
// transaction has taken. The size of a poll does not show that: where sessions share cores, the
// records of a session that is far behind arrive in small lots, too.
func (w *worker) measureBacklog() {
	unread := int64(0)
	for _, t := range w.tasks {
		if t.state == taskRunning {
			unread += t.lag
		}
	}
	w.backlogged = unread > int64(max(w.count, w.cfg.PollRecords))
}

// adaptInterval doubles the commit interval while the worker is behind.
func (w *worker) adaptInterval() {
	if w.backlogged {
		w.interval = min(2*w.interval, w.cfg.CommitIntervalMax)
	} else {
		w.interval = w.cfg.CommitInterval
	}
}

// endIdleTurn ends a turn in which no task has changes.
func (w *worker) endIdleTurn() error {
	w.timing.phases = w.timing.phases[:0]
	if w.count == 0 {
		w.sess.AllowRebalance()
		return nil
	}
	return fmt.Errorf("%w: %d records were polled, and no task has changes", errRebuild, w.count)
}

// flushTasks flushes every task that has changes or whose tick is due.
func (w *worker) flushTasks() (parts []*taskCommit, barriers []*task, err error) {
	now := time.Now()
	for _, p := range w.owned() {
		t := w.tasks[p]
		switch t.state {
		case taskBarrier:
			if !now.Before(t.refused.until) {
				barriers = append(barriers, t)
			}
			continue
		case taskRunning:
		default:
			continue
		}
		if t.folded == 0 && len(t.rejects) == 0 && !t.offsetsMoved() && !t.due(now, w.cfg.Tick) {
			continue
		}
		t.flushed = now
		t.inbox.woken.Store(false) // before the Flush, so that a later Wake has another one
		if err := t.fireDue(now); err != nil {
			return nil, nil, err
		}
		c := stream.Commit{NowMs: now.UnixMilli(), Incarnation: t.incarnation, OwnerEpoch: t.ownerEpoch, Sequence: t.seq + 1, Next: t.next}
		if err := t.flush(c); err != nil {
			return nil, nil, err
		}
		if !t.hasChanges() && !t.repairOffsets {
			t.answerAll(nil) // the questions have changed nothing
			continue
		}
		parts = append(parts, &taskCommit{task: t, marker: t.marker(c, w.proc.Inputs)})
	}
	w.phase("flush", now)
	return parts, barriers, nil
}

// marker returns the task's marker of this transaction.
func (t *task) marker(c stream.Commit, inputs []string) *changelogpb.Marker {
	m := &changelogpb.Marker{Sequence: c.Sequence, OwnerEpoch: c.OwnerEpoch, Incarnation: c.Incarnation, WrittenAtMs: c.NowMs}
	m.WatermarkMs, m.NextTimerMs, m.Skips = t.watermark.Ms(), t.timers.nextMs(), t.skips
	for _, topic := range inputs {
		m.Inputs = append(m.Inputs, &changelogpb.Position{Topic: topic, TopicId: t.ids[topic], Next: t.next[topic]})
	}
	return m
}

// produce passes all records to the client. In a changelog partition the marker comes last.
func (w *worker) produce(ctx context.Context, tx transaction, acked *txn.Acks) {
	began := time.Now()
	n := len(tx.barriers)
	for _, part := range tx.parts {
		n += len(part.task.changes.List) + 1
	}
	if cap(w.records) < n || cap(w.records) > 1<<16 && cap(w.records) > 4*n {
		w.records = make([]kgo.Record, 0, n+n/8)
	}
	out := &sender{ctx: ctx, client: w.sess.Client(), acked: acked, slab: w.records[:0]}
	for _, part := range tx.parts {
		w.produceTask(out, part)
	}
	for _, t := range tx.barriers {
		t.token = fmt.Sprintf("%s/%d/%d", w.txnID, t.p, time.Now().UnixNano())
		out.system(kgo.Record{Topic: w.proc.Changelog, Partition: t.p, Key: changelogpb.SystemKey(changelogpb.BarrierKey)},
			&changelogpb.Barrier{Token: t.token}, func(r *kgo.Record, err error) {
				if err == nil {
					t.barrier = r.Offset
				}
				acked.Acked(ctx, nil, r, err)
			})
	}
	w.phase("produce", began)
}

// produceTask passes the records of one task to the client.
func (w *worker) produceTask(out *sender, part *taskCommit) {
	t, logged := part.task, 0
	done := func(r *kgo.Record, err error) { out.acked.Acked(out.ctx, &part.err, r, w.partitioner.Explain(r, err)) }
	for j := range t.changes.List {
		c := &t.changes.List[j]
		switch {
		case c.Op == stream.OpEmit:
			out.send(txn.Emitted(c, t.p, part.marker.WrittenAtMs), done)
		case c.Table >= stream.FirstLocalTable:
		case c.Op == stream.OpDelete:
			out.send(kgo.Record{Topic: w.proc.Changelog, Partition: t.p, Key: c.LogKey()}, done)
			logged++
		case c.Op == stream.OpPut:
			out.send(kgo.Record{Topic: w.proc.Changelog, Partition: t.p, Key: c.LogKey(), Value: c.Value}, done)
			logged++
		}
	}
	w.cfg.Metrics.ChangelogRecords.WithLabelValues(w.proc.App).Add(float64(logged))
	for j := range t.rejects {
		out.acked.Add()
		out.client.Produce(out.ctx, t.rejects[j].record(w.proc.App, w.proc.DLQ, t.p), done)
	}
	out.system(kgo.Record{Topic: w.proc.Changelog, Partition: t.p, Key: changelogpb.SystemKey(changelogpb.MarkerKey)}, part.marker,
		func(r *kgo.Record, err error) {
			if err == nil {
				part.markerAt = r.Offset
			}
			out.acked.Acked(out.ctx, &part.err, r, err)
		})
}

// sender produces records from one slice, which must not change until the transaction has ended.
type sender struct {
	ctx    context.Context // of this transaction
	client *kgo.Client
	acked  *txn.Acks
	slab   []kgo.Record
}

func (s *sender) send(r kgo.Record, done func(*kgo.Record, error)) {
	s.slab = append(s.slab, r) // never grows: produce has counted the records
	s.acked.Add()
	s.client.Produce(s.ctx, &s.slab[len(s.slab)-1], done)
}

// system sends a marker or a barrier.
func (s *sender) system(r kgo.Record, m proto.Message, done func(*kgo.Record, error)) {
	value, err := proto.Marshal(m)
	if err != nil { // cannot happen; if it does, nothing may commit
		s.acked.Add()
		done(nil, err)
		return
	}
	r.Value = value
	s.send(r, done)
}

// fence adds the offsets of every task of the transaction to the offset commit, also of a task that
// read nothing. The brokers check the group generation there, and so fence a former owner.
func fence(req *kmsg.TxnOffsetCommitRequest, parts []*taskCommit, log string, partitions int32) error {
	for _, part := range parts {
		note := changelogpb.Note{Transaction: changelogpb.CommitMetadata(part.marker), Changelog: log, Partitions: partitions}.String()
		for _, in := range part.marker.Inputs {
			txn.AddOffset(req, in.Topic, part.task.p, in.Next, note)
		}
	}
	return nil
}

// apply writes what Kafka has committed to the store, in one batch with the state and the offsets
// of all tasks.
func (w *worker) apply(parts []*taskCommit) error {
	began := time.Now()
	size, defers := 4096, w.deferWrites()
	for i := range parts {
		if t := parts[i].task; !defers || !t.canDefer() {
			size += t.changes.Bytes() + 12*len(t.changes.List) + t.buffer.Bytes + 512
		}
	}
	b := w.store.DB.NewBatchWithSize(size)
	defer func() { _ = b.Close() }()
	for _, part := range parts {
		t := part.task
		meta := proto.CloneOf(t.meta)
		meta.Marker, meta.ChangelogNext, meta.AppliedAtMs = part.marker, part.markerAt+1, began.UnixMilli()
		meta.Local = part.marker.Inputs
		if t.meta = meta; defers && t.canDefer() {
			t.buffer.Add(t.p, t.changes.List)
			part.deferred = true
			continue
		}
		part.flushed = t.buffer.Pending()
		if err := t.buffer.FlushTo(b); err != nil {
			return fmt.Errorf("batch of partition %d: %w", t.p, err)
		}
		if err := store.Apply(b, t.p, t.changes.List); err != nil {
			return fmt.Errorf("batch of partition %d: %w", t.p, err)
		}
		if err := store.PutMeta(b, t.p, meta); err != nil {
			return err
		}
	}
	if err := b.Commit(pebble.NoSync); err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	for i := range parts {
		t := parts[i].task
		w.cfg.Metrics.Records.WithLabelValues(w.proc.App).Add(float64(t.folded))
		for clock, name := range []string{"event", "wall"} {
			if n := t.fired[clock]; n > 0 {
				w.cfg.Metrics.Timers.WithLabelValues(w.proc.App, name).Add(float64(n))
			}
		}
		for j := range t.rejects {
			w.cfg.Metrics.Rejected.WithLabelValues(w.proc.App, t.rejects[j].reason).Inc()
		}
		for name, n := range t.changes.Counts {
			w.cfg.Metrics.Counts.WithLabelValues(w.proc.App, name).Add(n)
		}
		t.seq, t.repairOffsets = parts[i].marker.Sequence, false
		t.timers.committed()
		switch {
		case parts[i].flushed:
			t.bufferStored()
		case !parts[i].deferred:
			t.changesStored()
		}
		t.resetTransaction()
		t.forgetPoison()
	}
	w.phase("apply", began)
	return nil
}

func (t *task) resetTransaction() {
	t.changes.Reset()
	t.rejects, t.folded, t.fired = t.rejects[:0], 0, [2]int{}
}

// abort aborts the open transaction because of cause, and restarts its tasks.
func (w *worker) abort(life context.Context, cause error) error {
	var stopped *changelog.StoppedError
	var poison *poisonError
	switch {
	case errors.As(cause, &stopped):
		w.log.Error().Int32("partition", stopped.Partition).Err(stopped.Err).Msg("partition_stopped")
	case errors.As(cause, &poison):
		w.log.Warn().Err(cause).Str("stack", poison.stack).Msg("poison_record")
	default:
		w.log.Error().Err(cause).Msg("transaction_abandoned")
	}
	ctx, cancel := w.endContext(life)
	defer cancel()
	_, err := w.end(ctx, func() (bool, error) { return w.sess.End(ctx, kgo.TryAbort) })
	w.open = false
	w.recordOutcome(abortReason(cause))
	if err != nil {
		return fmt.Errorf("%w: abort: %w", errRebuild, err)
	}
	var blamed *handler.Error
	errors.As(cause, &blamed)
	var parts []*taskCommit
	for _, t := range w.tasks {
		// The memory of a handler that failed cannot be trusted, even if it has no changes yet.
		own := blamed != nil && blamed.Partition == t.p
		if t.state == taskRunning && (own || t.hasChanges()) {
			part := &taskCommit{task: t}
			if own {
				part.err = cause
			}
			parts = append(parts, part)
		}
		if t.state == taskStopped {
			t.resetTransaction()
			w.discardHandler(t)
			w.sess.Client().PauseFetchPartitions(w.topicsOf(t.p))
		}
	}
	w.restartTasks(parts)
	w.sess.AllowRebalance()
	return nil
}

// restartTasks sends tasks through a takeover: their memory is that of a transaction that did not
// commit.
func (w *worker) restartTasks(parts []*taskCommit) {
	for _, part := range parts {
		t := part.task
		t.resetTransaction()
		w.discardHandler(t)
		t.timers, t.buffer, t.state, t.poisonStreak = nil, nil, taskBarrier, 0
		if part.err != nil {
			if t.recordFailure(part.err); t.state == taskStopped {
				w.log.Error().Int32("partition", t.p).Err(t.stopReason).Msg("partition_stopped")
			}
		}
		w.sess.Client().PauseFetchPartitions(w.topicsOf(t.p))
	}
	w.publish()
}

func (w *worker) topicsOf(p int32) map[string][]int32 {
	m := make(map[string][]int32, len(w.proc.Inputs))
	for _, topic := range w.proc.Inputs {
		m[topic] = []int32{p}
	}
	return m
}

// stopGracefully commits what is folded or waits for a commit, and writes what is buffered.
func (w *worker) stopGracefully(life context.Context) error {
	if w.open && (w.count > 0 || w.woken()) {
		if err := w.commit(life); err != nil {
			return err
		}
	}
	w.backlogged = false // so that flushBuffered writes
	return w.flushBuffered()
}

// leaveGroup ends the static membership, so that other processes take the partitions over at once.
func (w *worker) leaveGroup(ctx context.Context) error {
	if w.cfg.RemainInGroup && w.store.DiskErr() == nil {
		return nil
	}
	plain, err := w.cfg.Kafka.Client(kgo.RetryTimeout(2 * time.Second))
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer plain.Close()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if _, err := kadm.NewClient(plain).LeaveGroup(ctx, kadm.LeaveGroup(w.proc.App).InstanceIDs(w.txnID)); err != nil {
		w.log.Warn().Err(err).Msg("leave_failed") // the session timeout has the same effect, later
	}
	return nil
}
