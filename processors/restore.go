package processors

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
)

// restored is what a takeover found out. The worker's loop turns it into a running task.
type restored struct {
	meta    *changelogpb.TaskMeta
	ids     map[string][]byte
	next    map[string]int64
	start   map[string]int64 // first offset that an input still has
	own     uint64
	handler Handler
	repair  bool // the group's offsets are not the marker's: the next transaction sets them
	forgot  bool // the group has no offsets at all, and so the client has none
}

// restorer takes over one partition, on a goroutine of its own while the worker's other partitions go on.
type restorer struct {
	w       *worker
	p       int32
	token   string
	barrier int64
	waits   atomic.Pointer[string] // what for, for people
}

func (r *restorer) waitsFor(what string) { r.waits.Store(&what) }

// restore starts the takeover of tasks whose barrier is committed.
func (w *worker) restore(life context.Context, tasks []*task) {
	for _, t := range tasks {
		ctx, cancel := context.WithCancel(life)
		t.state, t.cancel = taskRestoring, cancel
		r := &restorer{w: w, p: t.p, token: t.token, barrier: t.barrier}
		held, tries := t.holds, t.tries
		w.restores.Go(func() {
			defer cancel()
			if !held {
				if held = w.store.own(t.p, ctx.Done()); !held {
					return
				}
			}
			began := time.Now()
			res, err := r.run(ctx)
			if err != nil { // give the cause time to pass
				pause(ctx, min(5*time.Second, time.Duration(1+tries)*100*time.Millisecond))
			}
			w.news.post(func() { w.landed(t, res, err, time.Since(began)) })
		})
	}
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// landed is the end of a takeover, in the worker's loop.
func (w *worker) landed(t *task, res *restored, err error, took time.Duration) {
	if w.tasks[t.p] != t { // released meanwhile
		w.store.disown(t.p)
		return
	}
	t.holds = true
	var stopped *StoppedError
	switch {
	case errors.As(err, &stopped):
		t.state, t.why = taskStopped, stopped.Why
		w.log.Error().Int32("partition", t.p).Err(stopped.Why).Msg("partition_stopped")
	case err != nil:
		t.tries++
		t.state, t.why = taskBarrier, err
		w.log.Warn().Int32("partition", t.p).Err(err).Int("tries", t.tries).Msg("takeover_failed")
		var own *taskError
		if errors.As(err, &own) {
			t.blame(err)
		}
	default:
		if t.next = res.next; !w.seek(t) && res.repair && !res.forgot {
			// The client has yet to ask the group, and then it goes where the group is, not where the marker is.
			t.state = taskBarrier
			break
		}
		t.meta, t.ids, t.own, t.handler, t.repair, t.forgot = res.meta, res.ids, res.own, res.handler, res.repair, res.forgot
		t.seq = t.meta.GetMarker().GetSequence()
		t.flushed = time.Now()
		t.state, t.tries = taskRunning, 0
		if !t.forgot { // else the session begins anew, with offsets
			w.sess.Client().ResumeFetchPartitions(w.topicsOf(t.p))
		}
		w.cfg.Metrics.Restores.WithLabelValues(w.proc.App).Inc()
		w.log.Info().Int32("partition", t.p).Uint64("owner_epoch", t.own).Dur("took", took).Msg("partition_running")
	}
	w.publish()
}

// seek puts the client where the task is, and says whether the client knows all of the task's inputs. After an abort the
// client goes back to what it believes to be committed: to 0 where it never committed anything, and too far if a commit went
// through whose answer was an error.
func (w *worker) seek(t *task) bool {
	at, cached, all := map[string]map[int32]kgo.EpochOffset{}, w.sess.Client().CommittedOffsets(), true
	for topic, next := range t.next {
		c, ok := cached[topic][t.p]
		if all = all && ok; ok && c.Offset != next {
			at[topic] = map[int32]kgo.EpochOffset{t.p: {Epoch: -1, Offset: next}}
		}
	}
	w.sess.Client().SetOffsets(at)
	return all
}

// run is the takeover: committed offsets, tail up to our barrier, comparison, handler, volatile state.
func (r *restorer) run(ctx context.Context) (*restored, error) {
	select { // a process that takes over many partitions reads a few at a time
	case r.w.store.slots <- struct{}{}:
		defer func() { <-r.w.store.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.waitsFor("the committed offsets of the group")
	watch, enough := context.WithCancel(ctx)
	defer enough()
	r.w.restores.Go(func() { r.watch(watch) })
	adm := kadm.NewClient(r.w.plain)
	group, err := r.committed(ctx, adm)
	if err != nil {
		return nil, err
	}
	meta, err := r.w.store.meta(r.w.store.db, r.p)
	if err != nil {
		return nil, r.stop(err)
	}
	ids, changelogID, err := r.topicIDs(ctx, adm, meta)
	if err != nil {
		return nil, err
	}
	meta.ChangelogTopic, meta.ChangelogTopicId = r.w.proc.Changelog, changelogID
	r.waitsFor("its barrier in the changelog")
	if meta, err = r.tail(ctx, adm, meta); err != nil {
		return nil, err
	}
	r.waitsFor("the start of its inputs")
	res := &restored{meta: meta, ids: ids, own: meta.GetMarker().GetOwnerEpoch() + 1}
	if err := r.compare(ctx, adm, group, res); err != nil {
		return nil, err
	}
	enough() // what follows reads stable records, and takes its time
	if err := r.revive(ctx, res); err != nil {
		return nil, err
	}
	return res, nil
}

func (r *restorer) stop(why error) error { return &StoppedError{Partition: r.p, Why: why} }

// groupOffset is what the group committed for one input of a partition.
type groupOffset struct {
	at int64  // -1 if nothing
	by string // the transaction that committed it, see identity
}

// committed reads the group's offsets of the partition once no transaction holds them open.
func (r *restorer) committed(ctx context.Context, adm *kadm.Client) (map[string]groupOffset, error) {
	for {
		got, err := adm.FetchOffsets(kadm.RequireStable(ctx), r.w.proc.App)
		out := map[string]groupOffset{}
		for _, topic := range r.w.proc.Inputs {
			out[topic] = groupOffset{at: -1}
			o, ok := got.Lookup(topic, r.p)
			switch {
			case ok && o.Err != nil: // another partition's error is no concern of ours
				err = errors.Join(err, o.Err)
			case ok && o.At >= 0:
				out[topic] = groupOffset{o.At, o.Metadata}
			}
		}
		if errors.Is(err, kerr.UnstableOffsetCommit) && ctx.Err() == nil {
			pause(ctx, 20*time.Millisecond)
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("fetch committed offsets of %s: %w", r.w.proc.App, err)
		}
		return out, nil
	}
}

// topicIDs reads the ids of all topics and compares them with those that the store remembers.
func (r *restorer) topicIDs(ctx context.Context, adm *kadm.Client, meta *changelogpb.TaskMeta) (map[string][]byte, []byte, error) {
	list, err := adm.ListTopics(ctx, append([]string{r.w.proc.Changelog}, r.w.proc.Inputs...)...)
	if err == nil {
		err = list.Error()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read topics: %w", err)
	}
	ids := map[string][]byte{}
	for name, t := range list {
		ids[name] = bytes.Clone(t.ID[:])
	}
	was := map[string][]byte{r.w.proc.Changelog: meta.ChangelogTopicId}
	for _, in := range meta.GetMarker().GetInputs() {
		was[in.Topic] = in.TopicId
	}
	for name, id := range was {
		if now := ids[name]; len(id) > 0 && now != nil && !bytes.Equal(id, now) {
			return nil, nil, r.stop(fmt.Errorf("topic %s was deleted and created again (id %x, was %x): its offsets mean something else now. Nothing was changed; to begin anew, stop the application, delete its group and changelog, and remove the state directory", name, now, id))
		}
	}
	changelog := ids[r.w.proc.Changelog]
	delete(ids, r.w.proc.Changelog)
	return ids, changelog, nil
}

// tail replays the changelog from where the store is up to our own barrier. Every earlier transaction is decided by
// then: read_committed gives out nothing behind an open one.
func (r *restorer) tail(ctx context.Context, adm *kadm.Client, meta *changelogpb.TaskMeta) (*changelogpb.TaskMeta, error) {
	starts, err := adm.ListStartOffsets(ctx, r.w.proc.Changelog)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read start of %s: %w", r.w.proc.Changelog, err)
	}
	start, _ := starts.Lookup(r.w.proc.Changelog, r.p)
	if meta.Marker != nil && (meta.ChangelogNext <= start.Offset || tooOld(meta)) {
		r.w.log.Warn().Int32("partition", r.p).Int64("store", meta.ChangelogNext).Int64("log_start", start.Offset).Msg("store_rebuilt")
		meta = r.blank(meta)
	}
	if meta.Marker == nil { // a new store, one that is to be rebuilt, or a rebuild that was cut short
		if err := r.w.store.clear(r.p); err != nil {
			return nil, err
		}
	}
	// The store's own marker is read again: a log that does not have it lost a transaction that the store has.
	from := max(meta.ChangelogNext-1, start.Offset)
	if from > r.barrier {
		return nil, r.stop(fmt.Errorf("the store is at offset %d of %s[%d], which ends at %d: the log was cut or replaced. Remove the state directory to rebuild from the log, after you made sure that the log is the right one", meta.ChangelogNext, r.w.proc.Changelog, r.p, r.barrier))
	}
	b := &replay{r: r, meta: meta, batch: r.w.store.db.NewBatch(), own: meta.Marker}
	defer func() { _ = b.batch.Close() }()
	err = readFrom(ctx, r.w.cfg.Kafka, place{r.w.proc.Changelog, from}, r.p, b.take)
	if errors.Is(err, errForeign) {
		r.w.log.Warn().Int32("partition", r.p).Str("store", identity(b.own)).Int64("at", from).Msg("store_not_of_log")
		return r.tail(ctx, adm, r.blank(meta))
	}
	if err != nil {
		return nil, fmt.Errorf("read %s[%d] from %d: %w", r.w.proc.Changelog, r.p, from, err)
	}
	return b.meta, b.write()
}

// blank is the meta of a store that is to be rebuilt from the log: tail clears what is there.
func (r *restorer) blank(old *changelogpb.TaskMeta) *changelogpb.TaskMeta {
	return &changelogpb.TaskMeta{Format: metaFormat, App: r.w.proc.App, ChangelogTopic: old.ChangelogTopic, ChangelogTopicId: old.ChangelogTopicId}
}

// maxAge is how old a store may be before its tail cannot be trusted: compaction drops tombstones after the changelog's
// delete.retention.ms (7 days in the catalogue), and a deleted key would come back.
const maxAge = 6 * 24 * time.Hour

func tooOld(meta *changelogpb.TaskMeta) bool {
	return time.Since(time.UnixMilli(meta.AppliedAtMs)) > maxAge
}

// replay applies changelog records. It keeps only whole transactions: changes wait for their marker.
type replay struct {
	r     *restorer
	meta  *changelogpb.TaskMeta
	batch *pebble.Batch
	count int
	own   *changelogpb.Marker // the store's, until it is met in the log: it must come first
}

var (
	errBarrier = errors.New("own barrier read")
	// errForeign: the log does not have the store's last transaction. Brokers can lose what they acknowledged: one that
	// restarts without other replicas takes partitions without a leader for deleted ones and leaves out their transaction
	// markers (KAFKA-20734). Or compaction has taken it, and nothing proves that the store is no branch of its own.
	errForeign = errors.New("the log does not have the store's last transaction")
)

// take is given every record in order; errBarrier ends the reading.
func (a *replay) take(rec *kgo.Record) error {
	if rec.Attrs.IsControl() {
		return nil
	}
	if a.own != nil {
		return a.meet(rec)
	}
	a.count++
	if !IsSystem(rec.Key) {
		key := append([]byte{byte(a.r.p >> 8), byte(a.r.p)}, rec.Key...)
		if rec.Value == nil {
			err := a.batch.Delete(key, nil)
			return errors.Join(err, a.spill())
		}
		err := a.batch.Set(key, rec.Value, nil)
		return errors.Join(err, a.spill())
	}
	switch string(rec.Key[1:]) {
	case markerKey:
		m, err := decode(rec.Value, &changelogpb.Marker{}, fmt.Sprintf("marker at %s[%d]@%d", rec.Topic, rec.Partition, rec.Offset))
		if err != nil {
			return a.r.stop(err)
		}
		a.meta.Marker, a.meta.ChangelogNext = m, rec.Offset+1
		if a.batch.Len() > maxReplay {
			return a.flush()
		}
	case barrierKey:
		b, err := decode(rec.Value, &changelogpb.Barrier{}, "barrier")
		if err != nil {
			return a.r.stop(err)
		}
		if b.Token == a.r.token {
			return errBarrier
		}
	}
	return nil
}

// meet expects the store's own marker.
func (a *replay) meet(rec *kgo.Record) error {
	if rec.Offset != a.meta.ChangelogNext-1 || string(rec.Key) != string(systemKey(markerKey)) {
		return errForeign
	}
	m, err := decode(rec.Value, &changelogpb.Marker{}, fmt.Sprintf("marker at %s[%d]@%d", rec.Topic, rec.Partition, rec.Offset))
	if err != nil {
		return a.r.stop(err)
	}
	if identity(m) != identity(a.own) {
		return errForeign
	}
	a.own = nil
	return nil
}

// maxReplay bounds a batch of the replay.
const maxReplay = 16 << 20

// spill writes a batch of a rebuild before its first marker, which compaction may leave only at the end. Without meta the
// store counts as empty, so a rebuild that is cut short begins anew.
func (a *replay) spill() error {
	if a.meta.Marker != nil || a.batch.Len() < maxReplay {
		return nil
	}
	return a.renew(a.batch.Commit(pebble.NoSync))
}

func (a *replay) renew(err error) error {
	if err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	err = a.batch.Close()
	a.batch = a.r.w.store.db.NewBatch()
	return err
}

// flush writes what has been replayed so far, at a marker: the store is then exactly at that marker.
func (a *replay) flush() error {
	a.meta.AppliedAtMs = time.Now().UnixMilli()
	if err := putMeta(a.batch, a.r.p, a.meta); err != nil {
		return err
	}
	return a.renew(a.batch.Commit(pebble.NoSync))
}

func (a *replay) write() error {
	a.r.w.cfg.Metrics.Replayed.WithLabelValues(a.r.w.proc.App).Add(float64(a.count))
	return a.flush()
}

// compare holds the changelog's last marker against the group's offsets: both were committed in one transaction. Where the
// brokers kept a part of it only, or have forgotten the offsets, the marker wins: its state is whole, and the next
// transaction gives its offsets back to the group.
func (r *restorer) compare(ctx context.Context, adm *kadm.Client, group map[string]groupOffset, res *restored) error {
	marker := positions(res.meta.GetMarker().GetInputs())
	starts, err := adm.ListStartOffsets(ctx, r.w.proc.Inputs...)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return fmt.Errorf("read start of the inputs: %w", err)
	}
	res.next, res.start = map[string]int64{}, map[string]int64{}
	for _, topic := range r.w.proc.Inputs {
		at, known := marker[topic]
		was := group[topic]
		start, _ := starts.Lookup(topic, r.p)
		res.start[topic] = start.Offset
		switch {
		case !known && was.at < 0: // a new input
			at = start.Offset
		case !known:
			return r.stop(fmt.Errorf("group %s has offset %d for %s[%d], but the changelog %s has no marker for it: the changelog was deleted or belongs to another life. Restore it, or delete the group's offsets to fold everything anew", r.w.proc.App, was.at, topic, r.p, r.w.proc.Changelog))
		case was.at < 0: // the brokers forget the offsets of a group that was away for long
			res.repair, res.forgot = true, true
		case was.at != at && torn(was.by, res.meta.Marker):
			r.w.log.Error().Int32("partition", r.p).Str("topic", topic).Int64("group", was.at).Str("by", was.by).
				Int64("state", at).Str("state_by", identity(res.meta.Marker)).Msg("transaction_torn_by_brokers")
			res.repair = true
		case was.at != at:
			return r.stop(fmt.Errorf("group %s is at offset %d of %s[%d], the state is at %d: the group's offsets were changed from outside, by %+d records. Set them back to %d, or remove state and changelog to fold anew", r.w.proc.App, was.at, topic, r.p, at, was.at-at, at))
		}
		res.next[topic] = at
	}
	return nil
}

// torn says whether an offset was committed by another of our transactions than the marker's. The same one with another
// offset is a fault of ours.
func torn(by string, m *changelogpb.Marker) bool {
	return strings.HasPrefix(by, identityPrefix) && by != identity(m)
}

// revive makes the handler and rebuilds what only its memory holds.
func (r *restorer) revive(ctx context.Context, res *restored) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = r.stop(fmt.Errorf("the handler panicked while it took over: %v", v))
		}
	}()
	db := r.w.store.db
	task := Task{Partition: r.p, OwnerEpoch: res.own, Next: res.next}
	if res.meta.Local != nil {
		task.LocalNext = positions(res.meta.Local)
	}
	task.Get = func(table byte, key []byte) ([]byte, error) { return get(db, storeKey(r.p, table, key)) }
	task.Scan = func(table byte, prefix []byte, fn func(k, v []byte) error) error {
		return scan(db, storeKey(r.p, table, prefix), fn)
	}
	if res.handler, err = r.w.proc.New(task); err != nil {
		return &taskError{r.p, fmt.Errorf("make its handler: %w", err)}
	}
	warm, ok := res.handler.(Warmer)
	if !ok {
		return nil
	}
	for topic, from := range warm.WarmFrom() {
		if start := res.start[topic]; from < start && from < res.next[topic] {
			// Retention has taken the beginning: what only it held is not known any more.
			r.w.log.Warn().Int32("partition", r.p).Str("topic", topic).Int64("from", from).Int64("log_start", start).Msg("warm_range_cut")
			from = start
		}
		if err := r.warm(ctx, warm, place{topic, from}, res.next[topic]); err != nil {
			return err
		}
	}
	return nil
}

// warm reads an input again, up to where the state is.
func (r *restorer) warm(ctx context.Context, h Warmer, from place, next int64) error {
	if from.offset >= next {
		return nil
	}
	t := &task{p: r.p, next: map[string]int64{from.topic: from.offset}}
	var recs []*kgo.Record
	give := func() error {
		b := &Batch{Topic: from.topic, Partition: r.p, Records: t.take(from.topic, recs, nil), NowMs: time.Now().UnixMilli()}
		recs = recs[:0]
		if len(b.Records) == 0 {
			return nil
		}
		if err := h.Warm(b); err != nil {
			return &taskError{r.p, fmt.Errorf("warm its handler: %w", err)}
		}
		return nil
	}
	err := readFrom(ctx, r.w.cfg.Kafka, from, r.p, func(rec *kgo.Record) error {
		if rec.Offset >= next {
			return errBarrier
		}
		if recs = append(recs, rec); len(recs) >= 4096 {
			if err := give(); err != nil {
				return err
			}
		}
		if rec.Offset+1 >= next {
			return errBarrier
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read %s[%d] again from %d: %w", from.topic, r.p, from.offset, err)
	}
	return give()
}

// readFrom reads one partition, committed records and control records, until fn returns errBarrier or an error.
func readFrom(ctx context.Context, k Kafka, from place, p int32, fn func(*kgo.Record) error) error {
	cl, err := k.Client(
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{from.topic: {p: kgo.NewOffset().At(from.offset)}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(),
		kgo.FetchMaxPartitionBytes(4<<20), kgo.FetchMaxWait(500*time.Millisecond),
	)
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	defer cl.Close()
	for {
		fetches := cl.PollRecords(ctx, 10_000)
		for _, e := range fetches.Errors() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if stopsPartition(e.Err) {
				return e.Err
			}
		}
		for it := fetches.RecordIter(); !it.Done(); {
			if err := fn(it.Next()); errors.Is(err, errBarrier) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
}

// explain says what a fetch error means and what can be done.
func (w *worker) explain(ctx context.Context, topic string, p int32, cause error) error {
	t := w.tasks[p]
	gap := ""
	if plain, err := w.cfg.Kafka.Client(kgo.RetryTimeout(2 * time.Second)); err == nil {
		defer plain.Close()
		ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if starts, err := kadm.NewClient(plain).ListStartOffsets(ctx, topic); err == nil {
			if s, ok := starts.Lookup(topic, p); ok && s.Err == nil && s.Offset > t.next[topic] {
				gap = fmt.Sprintf("; offsets %d to %d are gone: %d records", t.next[topic], s.Offset-1, s.Offset-t.next[topic])
			}
		}
	}
	return fmt.Errorf("%s[%d] cannot be read at offset %d%s: %w. Nothing was skipped; the other partitions go on", topic, p, t.next[topic], gap, cause)
}
