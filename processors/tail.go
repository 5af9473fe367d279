package processors

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
)

// begin says from where the partition's changelog is to be read: from where the store is, up to our own barrier. Every
// earlier transaction is decided by then: read_committed gives out nothing behind an open one.
func (r *restorer) begin(f *facts) (from int64, err error) {
	meta, err := r.w.store.meta(r.w.store.db, r.p)
	if err != nil {
		return 0, r.stop(err)
	}
	if err := r.sameTopics(f, meta); err != nil {
		return 0, err
	}
	meta.ChangelogTopic, meta.ChangelogTopicId = r.w.proc.Changelog, f.ids[r.w.proc.Changelog]
	start, err := startOf(f.logs, r.w.proc.Changelog, r.p)
	if err != nil {
		return 0, err
	}
	if meta.Marker != nil && (r.rebuild || meta.ChangelogNext <= start || tooOld(meta)) {
		r.w.log.Warn().Int32("partition", r.p).Int64("store", meta.ChangelogNext).Int64("log_start", start).Msg("store_rebuilt")
		meta = r.blank(meta)
	}
	if meta.Marker == nil { // a new store, one that is to be rebuilt, or a rebuild that was cut short
		if err := r.w.store.clear(r.p); err != nil {
			return 0, err
		}
	}
	// The store's own marker is read again: a log that does not have it lost a transaction that the store has.
	from = max(meta.ChangelogNext-1, start)
	if from > r.barrier {
		return 0, r.stop(fmt.Errorf("the store is at offset %d of %s[%d], which ends at %d: the log was cut or replaced. Remove the state directory to rebuild from the log, after you made sure that the log is the right one", meta.ChangelogNext, r.w.proc.Changelog, r.p, r.barrier))
	}
	if r.replay != nil {
		err = r.replay.batch.Close()
	}
	r.replay = &replay{r: r, meta: meta, batch: r.w.store.db.NewBatch(), own: meta.Marker}
	return from, err
}

// readTails reads the changelogs of several partitions with one client. Each that has met its barrier goes on by itself.
func (w *worker) readTails(life context.Context, f *facts, from map[int32]int64, list map[int32]*restorer) {
	if len(list) == 0 {
		return
	}
	at := map[int32]kgo.Offset{}
	for p, offset := range from {
		at[p] = kgo.NewOffset().At(offset)
		list[p].waitsFor("its barrier in the changelog")
	}
	cl, err := logReader(w.cfg.Kafka, w.proc.Changelog, at, kgo.FetchMaxBytes(w.cfg.FetchBytes),
		kgo.FetchMaxPartitionBytes(min(4<<20, w.cfg.FetchBytes)), kgo.FetchMaxWait(250*time.Millisecond))
	if err != nil {
		for _, r := range list {
			r.land(nil, err)
		}
		return
	}
	defer cl.Close()
	done := func(r *restorer) {
		delete(list, r.p)
		cl.PauseFetchPartitions(map[string][]int32{w.proc.Changelog: {r.p}})
	}
	for len(list) > 0 {
		ctx, cancel := context.WithCancel(life)
		stops := make([]func() bool, 0, len(list))
		for _, r := range list { // a partition that is released is let go at once
			stops = append(stops, context.AfterFunc(r.ctx, cancel)) //nolint:contextcheck // it is a part of life
		}
		fetches := cl.PollRecords(ctx, 10_000)
		for _, stop := range stops {
			stop()
		}
		cancel()
		for _, r := range list {
			if err := r.ctx.Err(); err != nil {
				done(r)
				r.land(nil, err)
			}
		}
		fetches.EachError(func(_ string, p int32, err error) {
			if r := list[p]; r != nil && stopsPartition(err) {
				done(r)
				r.land(nil, fmt.Errorf("read %s[%d] from %d: %w", w.proc.Changelog, p, from[p], err))
			}
		})
		fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
			if r := list[fp.Partition]; r != nil {
				if err := r.replay.takeAll(fp.Records); err != nil {
					done(r)
					w.restores.Go(func() { r.tailEnded(life, f, err) })
				}
			}
		})
	}
}

// tailEnded goes on once the tail is read, or cannot be.
func (r *restorer) tailEnded(life context.Context, f *facts, err error) {
	switch {
	case errors.Is(err, errBarrier):
		r.enough() // what follows reads stable records, and takes its time
		err = r.replay.write()
	case errors.Is(err, errForeign):
		r.w.log.Warn().Int32("partition", r.p).Str("store", identity(r.replay.own)).Msg("store_not_of_log")
		r.rebuild = true
		r.w.takeOver(life, []*restorer{r})
		return
	}
	if err != nil {
		r.land(nil, fmt.Errorf("read the tail of %s[%d]: %w", r.w.proc.Changelog, r.p, err))
		return
	}
	r.land(r.finish(f))
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

func (a *replay) takeAll(recs []*kgo.Record) error {
	for _, rec := range recs {
		if err := a.take(rec); err != nil {
			return err
		}
	}
	return nil
}

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
		var err error
		if rec.Value == nil {
			err = a.batch.Delete(key, nil)
		} else {
			err = a.batch.Set(key, rec.Value, nil)
		}
		return errors.Join(err, a.spill())
	}
	switch string(rec.Key[1:]) {
	case markerKey:
		m, err := a.marker(rec)
		if err != nil {
			return err
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
	m, err := a.marker(rec)
	if err != nil {
		return err
	}
	if identity(m) != identity(a.own) {
		return errForeign
	}
	a.own = nil
	return nil
}

func (a *replay) marker(rec *kgo.Record) (*changelogpb.Marker, error) {
	m, err := decode(rec.Value, &changelogpb.Marker{}, fmt.Sprintf("marker at %s[%d]@%d", rec.Topic, rec.Partition, rec.Offset))
	if err != nil {
		return nil, a.r.stop(err)
	}
	return m, nil
}

// maxReplay bounds a batch of the replay. Each partition that is taken over has one.
const maxReplay = 4 << 20

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
