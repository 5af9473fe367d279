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

// Applier applies the records of one changelog partition to the store. What it writes ends with a
// marker, so the store always holds whole transactions. The Applier needs the partition for itself:
// see store.Store.Acquire.
type Applier struct {
	store       *store.Store
	Partition   int32
	log         string // topic of the changelog
	Token       string // of the barrier at which the Applier ends; empty for a standby
	Meta        *changelogpb.TaskMeta
	storeMarker *changelogpb.Marker // of the store, until the log's first record has confirmed it
	Next        int64               // next offset to read
	batch       *pebble.Batch       // changes that the store does not have yet
	bulk        *store.BulkLoader   // replaces batch until an empty store has caught up
	bulkUntil   int64               // offset at which the store has caught up
	open        bool                // batch has changes after its last marker
	Count       int
	Progress    Progress
	Skips       Skips // instructions behind the last marker

	follower Follower // gets what is applied; may be nil

	rewritten uint64 // sequence of the last transaction that replaced state from outside
}

// Follower gets what an Applier reads, while the store still has the state before it.
type Follower interface {
	// Change gets a change of the open transaction.
	Change(rec *kgo.Record)
	// Commit gets the marker of the open transaction, and the changelog offset behind it.
	Commit(m *changelogpb.Marker, next int64)
}

// Follow makes the Applier pass what it reads to f, and write each transaction by itself. The
// Applier must have read nothing that the store does not have.
func (a *Applier) Follow(f Follower) { a.follower = f }

var (
	// ErrEnd is returned when the barrier of this takeover has been read.
	ErrEnd = errors.New("the barrier of this takeover was read")
	// ErrDiverged is returned when the changelog lacks the store's last transaction. Brokers can
	// lose acknowledged records: a broker that restarts without other replicas takes partitions
	// without a leader for deleted ones and omits their transaction markers (KAFKA-20734). Or
	// compaction has removed the transaction's marker, and nothing proves that the store belongs to
	// this changelog.
	ErrDiverged = errors.New("the changelog lacks the last transaction of the store")
)

// NewApplier finds the store's position in the changelog. It clears the partition if the store is
// rebuilt.
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
	if meta.Marker == nil { // a new store, a store to be rebuilt, or an interrupted rebuild
		if err := s.ClearPartition(p); err != nil {
			return nil, err
		}
	}
	// The store's own marker is read again: a changelog without it has lost a transaction of the
	// store.
	at := max(meta.ChangelogNext-1, start)
	a := &Applier{store: s, Partition: p, log: log, Meta: meta, storeMarker: meta.Marker, Next: at, batch: s.DB.NewBatch()}
	if a.bulkUntil, err = offsetIn(f.changelogEnds, log, p); err == nil && meta.Marker == nil && a.bulkUntil-at > BulkMinRecords {
		a.bulk = store.NewBulkLoader(s, p)
	}
	a.Progress.from, a.Progress.to, a.Progress.began = at, a.bulkUntil, time.Now()
	a.Progress.at.Store(at)
	return a, err
}

// BulkMinRecords is the number of records from which a bulk load is faster than single writes.
const BulkMinRecords = 10_000

// maxAge is the greatest age of a store that can be brought up to date. Compaction drops tombstones
// after the changelog's delete.retention.ms (7 days in the catalogue); an older store would keep a
// deleted key.
const maxAge = 6 * 24 * time.Hour

// TooOld reports whether a store is so old that compaction may have dropped tombstones that it
// lacks.
func TooOld(meta *changelogpb.TaskMeta) bool {
	return time.Since(time.UnixMilli(meta.AppliedAtMs)) > maxAge
}

// Close discards what is not written.
func (a *Applier) Close() (err error) {
	if a.bulk != nil {
		err = a.bulk.Wait()
	}
	return errors.Join(err, a.batch.Close())
}

// ApplyAll applies records of the partition in the order of their offsets.
func (a *Applier) ApplyAll(recs []*kgo.Record) error {
	for _, rec := range recs {
		if err := a.apply(rec); err != nil {
			return err
		}
		a.Next = rec.Offset + 1
		a.Progress.bytes.Add(int64(len(rec.Key) + len(rec.Value)))
	}
	a.Progress.at.Store(a.Next)
	return nil
}

// apply applies one record. ErrEnd ends the reading.
func (a *Applier) apply(rec *kgo.Record) error {
	if rec.Attrs.IsControl() {
		return nil
	}
	if a.storeMarker != nil {
		return a.expectStoreMarker(rec)
	}
	a.Count++
	if !changelogpb.IsSystem(rec.Key) {
		if a.follower != nil {
			a.follower.Change(rec)
		}
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
		a.Meta.Marker, a.Meta.ChangelogNext, a.open, a.Skips = m, rec.Offset+1, false, nil
		if m.Rewritten {
			a.Meta.Local, a.rewritten = nil, m.Sequence
		}
		if a.follower != nil {
			a.follower.Commit(m, rec.Offset+1)
			return a.Flush()
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
	default:
		s, err := changelogpb.DecodeSkip(rec.Key, rec.Value)
		if err != nil {
			return Stopped(a.Partition, err)
		}
		if s != nil {
			a.Skips = append(a.Skips, s)
		}
	}
	return nil
}

// ApplyRecord adds a changelog record of state to b.
func ApplyRecord(b *pebble.Batch, rec *kgo.Record) error {
	key := append([]byte{byte(rec.Partition >> 8), byte(rec.Partition)}, rec.Key...)
	if rec.Value == nil {
		return b.Delete(key, nil)
	}
	return b.Set(key, rec.Value, nil)
}

// expectStoreMarker checks that rec is the store's last marker.
func (a *Applier) expectStoreMarker(rec *kgo.Record) error {
	if rec.Offset != a.Meta.ChangelogNext-1 || string(rec.Key) != string(changelogpb.SystemKey(changelogpb.MarkerKey)) {
		return ErrDiverged
	}
	m, err := a.marker(rec)
	if err != nil {
		return err
	}
	if changelogpb.CommitMetadata(m) != changelogpb.CommitMetadata(a.storeMarker) {
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

// MaxBatchBytes bounds the batch of one partition that is restored.
const MaxBatchBytes = 4 << 20

// spill writes the batch of a small rebuild that has not met a marker: after compaction the only
// marker may be at the end. A store without meta counts as empty, so an interrupted rebuild starts
// from the beginning.
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

// Flush writes what was applied up to a marker. The store then ends at that marker.
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

// Consistent reports whether the store equals its meta, with no change outstanding.
func (a *Applier) Consistent() bool {
	return a.PastStoreMarker() && a.bulk == nil && !a.open && a.batch.Empty()
}

// PastStoreMarker reports whether the store has a marker and the changelog has confirmed it.
func (a *Applier) PastStoreMarker() bool { return a.storeMarker == nil && a.Meta.Marker != nil }

// AtMarker reports whether the last record read was a marker.
func (a *Applier) AtMarker() bool { return !a.open && a.Meta.Marker != nil }

// Expected names the store's last transaction, which must come first in the changelog.
func (a *Applier) Expected() string { return changelogpb.CommitMetadata(a.storeMarker) }

// KeepLocal adds changes of local tables that are complete up to the positions local, as computed
// from the state of transaction sequence. They are written with the next whole transaction, because
// a takeover may have applied more of the log by now. Nothing is kept if a later transaction
// replaced the state from outside.
func (a *Applier) KeepLocal(sequence uint64, local []*changelogpb.Position, changes []stream.Change) (kept bool, err error) {
	if a.rewritten > sequence {
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
