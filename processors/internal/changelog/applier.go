package changelog

import (
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/stream"
)

// Applier applies the records of one partition's changelog to the store. What it writes ends with a marker, so the store is
// always exactly as a transaction left it. It has the partition to itself: see store.own.
type Applier struct {
	store       *store.Store
	Partition   int32
	log         string // the changelog
	Token       string // of the barrier that ends it; none for a standby
	Meta        *changelogpb.TaskMeta
	storeMarker *changelogpb.Marker // the store's, until it is met in the log: it must come first
	Next        int64               // next offset to read
	batch       *pebble.Batch       // changes that are not in the store yet
	bulk        *store.BulkLoader   // instead of batch, until an empty store has caught up
	bulkUntil   int64               // offset at which it has
	open        bool                // batch has changes after its last marker
	Count       int
	Progress    Progress

	rewritten uint64 // the last transaction that put state in from outside
}

var (
	// ErrEnd is returned when the barrier of this takeover was read.
	ErrEnd = errors.New("own barrier read")
	// ErrDiverged is returned when the log does not have the store's last transaction. Brokers can lose what they acknowledged: one that
	// restarts without other replicas takes partitions without a leader for deleted ones and leaves out their transaction
	// markers (KAFKA-20734). Or compaction has taken it, and nothing proves that the store is no branch of its own.
	ErrDiverged = errors.New("the log does not have the store's last transaction")
)

// NewApplier finds out where the store is in the changelog, and clears it if it is to be rebuilt.
func NewApplier(s *store.Store, f *BrokerState, p int32, rebuild bool) (*Applier, error) {
	meta, err := s.Meta(s.DB, p)
	if err != nil {
		return nil, Stopped(p, err)
	}
	if err := f.checkTopicIDs(p, meta); err != nil {
		return nil, err
	}
	log := f.proc.Changelog
	start, err := offsetIn(f.changelogStarts, log, p)
	if err != nil {
		return nil, err
	}
	if meta.Marker != nil && (rebuild || meta.ChangelogNext <= start || TooOld(meta)) {
		s.Log.Warn().Int32("partition", p).Int64("store", meta.ChangelogNext).Int64("log_start", start).Msg("store_rebuilt")
		meta = store.NewMeta(s.App)
	}
	meta.ChangelogTopic, meta.ChangelogTopicId = log, f.IDs[log]
	if meta.Marker == nil { // a new store, one that is to be rebuilt, or a rebuild that was cut short
		if err := s.ClearPartition(p); err != nil {
			return nil, err
		}
	}
	// The store's own marker is read again: a log that does not have it lost a transaction that the store has.
	at := max(meta.ChangelogNext-1, start)
	a := &Applier{store: s, Partition: p, log: log, Meta: meta, storeMarker: meta.Marker, Next: at, batch: s.DB.NewBatch()}
	if a.bulkUntil, err = offsetIn(f.changelogEnds, log, p); err == nil && meta.Marker == nil && a.bulkUntil-at > BulkMinRecords {
		a.bulk = store.NewBulkLoader(s, p)
	}
	a.Progress.from, a.Progress.to, a.Progress.began = at, a.bulkUntil, time.Now()
	a.Progress.at.Store(at)
	return a, err
}

// BulkMinRecords is how many records make it worth while to sort them.
const BulkMinRecords = 10_000

// maxAge is how old a store may be before its tail cannot be trusted: compaction drops tombstones after the changelog's
// delete.retention.ms (7 days in the catalogue), and a deleted key would come back.
const maxAge = 6 * 24 * time.Hour

// TooOld reports whether a store is so old that the changelog may have compacted tombstones that it lacks.
func TooOld(meta *changelogpb.TaskMeta) bool {
	return time.Since(time.UnixMilli(meta.AppliedAtMs)) > maxAge
}

// Close gives up what is not written.
func (a *Applier) Close() (err error) {
	if a.bulk != nil {
		err = a.bulk.Wait()
	}
	return errors.Join(err, a.batch.Close())
}

// ApplyAll applies records of the partition in the order of their offsets.
func (a *Applier) ApplyAll(recs []*kgo.Record) error {
	for _, rec := range recs {
		if err := a.take(rec); err != nil {
			return err
		}
		a.Next = rec.Offset + 1
		a.Progress.bytes.Add(int64(len(rec.Key) + len(rec.Value)))
	}
	a.Progress.at.Store(a.Next)
	return nil
}

// take is given every record in order; errBarrier ends the reading.
func (a *Applier) take(rec *kgo.Record) error {
	if rec.Attrs.IsControl() {
		return nil
	}
	if a.storeMarker != nil {
		return a.expectStoreMarker(rec)
	}
	a.Count++
	if !changelogpb.IsSystem(rec.Key) {
		if a.open = true; a.bulk != nil {
			return a.bulk.Put(rec.Key, rec.Value)
		}
		return errors.Join(ApplyRecord(a.batch, rec), a.spill())
	}
	switch string(rec.Key[1:]) {
	case changelogpb.MarkerKey:
		m, err := a.marker(rec)
		if err != nil {
			return err
		}
		a.Meta.Marker, a.Meta.ChangelogNext, a.open = m, rec.Offset+1, false
		if m.Rewritten {
			a.Meta.Local, a.rewritten = nil, m.Sequence
		}
		if a.batch.Len() > MaxBatchBytes || a.bulk != nil && rec.Offset+1 >= a.bulkUntil {
			return a.Flush()
		}
	case changelogpb.BarrierKey:
		b, err := changelogpb.Decode(rec.Value, &changelogpb.Barrier{}, "barrier")
		if err != nil {
			return Stopped(a.Partition, err)
		}
		if b.Token == a.Token {
			return ErrEnd
		}
	}
	return nil
}

// ApplyRecord puts a changelog's record of state into b.
func ApplyRecord(b *pebble.Batch, rec *kgo.Record) error {
	key := append([]byte{byte(rec.Partition >> 8), byte(rec.Partition)}, rec.Key...)
	if rec.Value == nil {
		return b.Delete(key, nil)
	}
	return b.Set(key, rec.Value, nil)
}

// expectStoreMarker expects the store's own marker.
func (a *Applier) expectStoreMarker(rec *kgo.Record) error {
	if rec.Offset != a.Meta.ChangelogNext-1 || string(rec.Key) != string(changelogpb.SystemKey(changelogpb.MarkerKey)) {
		return ErrDiverged
	}
	m, err := a.marker(rec)
	if err != nil {
		return err
	}
	if CommitMetadata(m) != CommitMetadata(a.storeMarker) {
		return ErrDiverged
	}
	a.storeMarker = nil
	return nil
}

func (a *Applier) marker(rec *kgo.Record) (*changelogpb.Marker, error) {
	m, err := changelogpb.Decode(rec.Value, &changelogpb.Marker{}, fmt.Sprintf("marker at %s[%d]@%d", rec.Topic, rec.Partition, rec.Offset))
	if err != nil {
		return nil, Stopped(a.Partition, err)
	}
	return m, nil
}

// MaxBatchBytes bounds a batch of the replay. Each partition that is taken over has one.
const MaxBatchBytes = 4 << 20

// spill writes a batch of a small rebuild before its first marker, which compaction may leave only at the end. Without meta the
// store counts as empty, so a rebuild that is cut short begins anew.
func (a *Applier) spill() error {
	if a.Meta.Marker != nil || a.batch.Len() < MaxBatchBytes {
		return nil
	}
	return a.renewBatch(a.batch.Commit(pebble.NoSync))
}

func (a *Applier) renewBatch(err error) error {
	if err != nil {
		return fmt.Errorf("write store: %w", err)
	}
	err = a.batch.Close()
	a.batch = a.store.DB.NewBatch()
	return err
}

// Flush writes what has been replayed so far, at a marker: the store is then exactly at that marker.
func (a *Applier) Flush() error {
	if a.bulk != nil {
		if err := a.bulk.Finish(); err != nil {
			return err
		}
		a.bulk = nil
	}
	a.Meta.AppliedAtMs = time.Now().UnixMilli()
	if err := store.PutMeta(a.batch, a.Partition, a.Meta); err != nil {
		return err
	}
	return a.renewBatch(a.batch.Commit(pebble.NoSync))
}

// Consistent reports whether the store is as meta says, with nothing on its way.
func (a *Applier) Consistent() bool {
	return a.PastStoreMarker() && a.bulk == nil && !a.open && a.batch.Empty()
}

// PastStoreMarker reports whether the store's own marker was met in the log, and the store has one.
func (a *Applier) PastStoreMarker() bool { return a.storeMarker == nil && a.Meta.Marker != nil }

// AtMarker reports whether what is read ends with a marker.
func (a *Applier) AtMarker() bool { return !a.open && a.Meta.Marker != nil }

// Expected names the store's last transaction, which is to come first in the log.
func (a *Applier) Expected() string { return CommitMetadata(a.storeMarker) }

// KeepLocal takes changes of local tables that are complete up to local, as of transaction as. They are written with the next
// whole transaction: the state may have gone on meanwhile, as it has in a takeover. It keeps nothing if the state has become
// another one since.
func (a *Applier) KeepLocal(as uint64, local []*changelogpb.Position, changes []stream.Change) (kept bool, err error) {
	if a.rewritten > as {
		return false, nil
	}
	if err := store.Apply(a.batch, a.Partition, changes); err != nil {
		return false, fmt.Errorf("write store: %w", err)
	}
	if a.Meta.Local = local; a.open {
		return true, nil
	}
	return true, a.Flush()
}
