package processors

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/changelogpb"
)

// replay applies the records of one partition's changelog to the store. What it writes ends with a marker, so the store is
// always exactly as a transaction left it. It has the partition to itself: see store.own.
type replay struct {
	store *store
	p     int32
	log   string // the changelog
	token string // of the barrier that ends it; none for a standby
	meta  *changelogpb.TaskMeta
	own   *changelogpb.Marker // the store's, until it is met in the log: it must come first
	at    int64               // next offset to read
	batch *pebble.Batch       // changes that are not in the store yet
	bulk  *bulk               // instead of batch, until an empty store has caught up
	until int64               // offset at which it has
	open  bool                // batch has changes after its last marker
	count int
	way   progress

	rewritten uint64 // the last transaction that put state in from outside
}

var (
	errBarrier = errors.New("own barrier read")
	// errDiverged: the log does not have the store's last transaction. Brokers can lose what they acknowledged: one that
	// restarts without other replicas takes partitions without a leader for deleted ones and leaves out their transaction
	// markers (KAFKA-20734). Or compaction has taken it, and nothing proves that the store is no branch of its own.
	errDiverged = errors.New("the log does not have the store's last transaction")
)

// openReplay finds out where the store is in the changelog, and clears it if it is to be rebuilt.
func openReplay(s *store, f *facts, p int32, rebuild bool) (*replay, error) {
	meta, err := s.meta(s.db, p)
	if err != nil {
		return nil, stopped(p, err)
	}
	if err := f.sameTopics(p, meta); err != nil {
		return nil, err
	}
	log := f.proc.Changelog
	start, err := offsetIn(f.logs, log, p)
	if err != nil {
		return nil, err
	}
	if meta.Marker != nil && (rebuild || meta.ChangelogNext <= start || tooOld(meta)) {
		s.log.Warn().Int32("partition", p).Int64("store", meta.ChangelogNext).Int64("log_start", start).Msg("store_rebuilt")
		meta = newMeta(s.app)
	}
	meta.ChangelogTopic, meta.ChangelogTopicId = log, f.ids[log]
	if meta.Marker == nil { // a new store, one that is to be rebuilt, or a rebuild that was cut short
		if err := s.clear(p); err != nil {
			return nil, err
		}
	}
	// The store's own marker is read again: a log that does not have it lost a transaction that the store has.
	at := max(meta.ChangelogNext-1, start)
	a := &replay{store: s, p: p, log: log, meta: meta, own: meta.Marker, at: at, batch: s.db.NewBatch()}
	if a.until, err = offsetIn(f.ends, log, p); err == nil && meta.Marker == nil && a.until-at > bulkLeast {
		a.bulk = newBulk(s, p)
	}
	a.way.from, a.way.to, a.way.began = at, a.until, time.Now()
	a.way.at.Store(at)
	return a, err
}

// bulkLeast is how many records make it worth while to sort them.
const bulkLeast = 10_000

// maxAge is how old a store may be before its tail cannot be trusted: compaction drops tombstones after the changelog's
// delete.retention.ms (7 days in the catalogue), and a deleted key would come back.
const maxAge = 6 * 24 * time.Hour

func tooOld(meta *changelogpb.TaskMeta) bool {
	return time.Since(time.UnixMilli(meta.AppliedAtMs)) > maxAge
}

func (a *replay) close() (err error) {
	if a.bulk != nil {
		err = a.bulk.wait()
	}
	return errors.Join(err, a.batch.Close())
}

func (a *replay) takeAll(recs []*kgo.Record) error {
	for _, rec := range recs {
		if err := a.take(rec); err != nil {
			return err
		}
		a.at = rec.Offset + 1
		a.way.bytes.Add(int64(len(rec.Key) + len(rec.Value)))
	}
	a.way.at.Store(a.at)
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
		if a.open = true; a.bulk != nil {
			return a.bulk.put(rec.Key, rec.Value)
		}
		return errors.Join(applyLogged(a.batch, rec), a.spill())
	}
	switch string(rec.Key[1:]) {
	case markerKey:
		m, err := a.marker(rec)
		if err != nil {
			return err
		}
		a.meta.Marker, a.meta.ChangelogNext, a.open = m, rec.Offset+1, false
		if m.Rewritten {
			a.meta.Local, a.rewritten = nil, m.Sequence
		}
		if a.batch.Len() > maxReplay || a.bulk != nil && rec.Offset+1 >= a.until {
			return a.flush()
		}
	case barrierKey:
		b, err := decode(rec.Value, &changelogpb.Barrier{}, "barrier")
		if err != nil {
			return stopped(a.p, err)
		}
		if b.Token == a.token {
			return errBarrier
		}
	}
	return nil
}

// applyLogged puts a changelog's record of state into b.
func applyLogged(b *pebble.Batch, rec *kgo.Record) error {
	key := append([]byte{byte(rec.Partition >> 8), byte(rec.Partition)}, rec.Key...)
	if rec.Value == nil {
		return b.Delete(key, nil)
	}
	return b.Set(key, rec.Value, nil)
}

// meet expects the store's own marker.
func (a *replay) meet(rec *kgo.Record) error {
	if rec.Offset != a.meta.ChangelogNext-1 || string(rec.Key) != string(systemKey(markerKey)) {
		return errDiverged
	}
	m, err := a.marker(rec)
	if err != nil {
		return err
	}
	if identity(m) != identity(a.own) {
		return errDiverged
	}
	a.own = nil
	return nil
}

func (a *replay) marker(rec *kgo.Record) (*changelogpb.Marker, error) {
	m, err := decode(rec.Value, &changelogpb.Marker{}, fmt.Sprintf("marker at %s[%d]@%d", rec.Topic, rec.Partition, rec.Offset))
	if err != nil {
		return nil, stopped(a.p, err)
	}
	return m, nil
}

// maxReplay bounds a batch of the replay. Each partition that is taken over has one.
const maxReplay = 4 << 20

// spill writes a batch of a small rebuild before its first marker, which compaction may leave only at the end. Without meta the
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
	a.batch = a.store.db.NewBatch()
	return err
}

// flush writes what has been replayed so far, at a marker: the store is then exactly at that marker.
func (a *replay) flush() error {
	if a.bulk != nil {
		if err := a.bulk.finish(); err != nil {
			return err
		}
		a.bulk = nil
	}
	a.meta.AppliedAtMs = time.Now().UnixMilli()
	if err := putMeta(a.batch, a.p, a.meta); err != nil {
		return err
	}
	return a.renew(a.batch.Commit(pebble.NoSync))
}

// consistent reports whether the store is as meta says, with nothing on its way.
func (a *replay) consistent() bool {
	return a.applies() && a.bulk == nil && !a.open && a.batch.Empty()
}

// applies reports whether the store's own marker was met in the log, and the store has one.
func (a *replay) applies() bool { return a.own == nil && a.meta.Marker != nil }

// whole reports whether what is read ends with a marker.
func (a *replay) whole() bool { return !a.open && a.meta.Marker != nil }

// expects names the store's last transaction, which is to come first in the log.
func (a *replay) expects() string { return identity(a.own) }
