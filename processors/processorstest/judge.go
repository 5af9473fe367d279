package processorstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/invariant"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/stream"
)

// storeContents is what the store of one process holds.
type storeContents struct {
	process string
	stores  map[int32]invariant.Store
}

// readStores reads the stores of the processes that run: partition by partition, with read.
func (w *Harness) readStores(read func(*processors.Snapshot, int32) (invariant.Store, error)) ([]storeContents, error) {
	var list []storeContents
	for _, p := range w.running() {
		snap, err := p.rt.Snapshot()
		if errors.Is(err, processors.ErrNotRunning) { // it has just begun
			continue
		}
		if err != nil {
			return nil, err
		}
		h := storeContents{p.name, map[int32]invariant.Store{}}
		for q := range w.parts {
			s, e := read(snap, q)
			err = errors.Join(err, e)
			h.stores[q] = s
		}
		if err := errors.Join(err, snap.Close()); err != nil {
			return nil, fmt.Errorf("read the store of process %s: %w", p.name, err)
		}
		list = append(list, h)
	}
	return list, nil
}

// readNext reads how far a partition is.
func readNext(snap *processors.Snapshot, partition int32) (s invariant.Store, err error) {
	m, err := snap.Meta(partition)
	s.ChangelogNext, s.Next = m.GetChangelogNext(), positions(m.GetMarker())
	return s, err
}

// readStore reads all of a partition that is logged, by the keys that it has in the changelog.
func readStore(snap *processors.Snapshot, partition int32) (invariant.Store, error) {
	s, err := readNext(snap, partition)
	s.State = map[string]string{}
	for table := stream.FirstTable; table < stream.FirstLocalTable && err == nil; table++ {
		err = snap.Scan(partition, table, nil, func(k, v []byte) error {
			s.State[changelogKey(table, k)] = string(v)
			return nil
		})
	}
	return s, err
}

// changelogKey is a key of the state as the changelog has it.
func changelogKey(table byte, key []byte) string { return string([]byte{table}) + string(key) }

func positions(m *changelogpb.Marker) map[string]int64 {
	next := map[string]int64{}
	for _, in := range m.GetInputs() {
		next[in.GetTopic()] = in.GetNext()
	}
	return next
}

// committed are the group's offsets, by partition and topic.
func (w *Harness) committed(ctx context.Context) (map[int32]map[string]int64, error) {
	got, err := kadm.NewClient(w.client).FetchOffsets(kadm.RequireStable(ctx), w.options.Processor.App)
	if err == nil {
		err = got.Error()
	}
	if errors.Is(err, kerr.GroupIDNotFound) { // nobody has joined yet
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("fetch the committed offsets: %w", err)
	}
	out := map[int32]map[string]int64{}
	got.Each(func(o kadm.OffsetResponse) {
		if out[o.Partition] == nil {
			out[o.Partition] = map[string]int64{}
		}
		out[o.Partition][o.Topic] = o.At
	})
	return out, nil
}

// watch compares stores with the group while the world runs: the stores are read first.
func (w *Harness) watch(ctx context.Context) {
	defer close(w.ended)
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(cmp.Or(w.options.CheckInterval, 100*time.Millisecond)):
		}
		list, err := w.readStores(readNext)
		if err != nil { // a store that cannot be read is the runtime's to notice
			continue
		}
		committed, err := w.committed(ctx)
		if err != nil { // brokers that fail are a part of the test
			continue
		}
		w.mu.Lock()
		w.seen++
		if len(w.storesAhead) == 0 {
			w.storesAhead = storesAhead(list, committed)
		}
		w.mu.Unlock()
	}
}

func storesAhead(list []storeContents, committed map[int32]map[string]int64) (errs []error) {
	for _, h := range list {
		if err := invariant.StoreNotAhead(&invariant.History{Stores: h.stores, Committed: committed}); err != nil {
			errs = append(errs, fmt.Errorf("process %s: %w", h.process, err))
		}
	}
	return errs
}

// end stops everything in order, and judges what is left.
func (w *Harness) end() error {
	var errs []error
	for _, b := range w.guests {
		if err := b.end(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", b.options.Processor.App, err))
		}
	}
	return errors.Join(append(errs, w.stop())...)
}

// stop is end of what is of this world alone.
func (w *Harness) stop() error {
	list, err := w.readStores(readStore)
	for _, p := range w.running() {
		p.Thaw()
		p.Heal()
		if e := p.stop(); e != nil {
			err = errors.Join(err, fmt.Errorf("process %s: %w", p.name, e))
		}
	}
	w.kill()
	<-w.ended
	if err != nil {
		return err
	}
	return w.judge(list)
}

func (w *Harness) judge(list []storeContents) error {
	ctx := context.Background()
	committed, err := w.committed(ctx)
	if err != nil {
		return err
	}
	records, err := w.sim.Read(ctx, w.options.Processor.Changelog)
	if err != nil {
		return err
	}
	changes, err := changelog(records)
	if err != nil {
		return err
	}
	errs := append(storesAhead(list, committed), w.storesAhead...)
	for _, h := range list {
		if err := invariant.ChangelogState(&invariant.History{Changelog: changes, Stores: h.stores}); err != nil {
			errs = append(errs, fmt.Errorf("process %s: %w", h.process, err))
		}
	}
	errs = append(errs, invariant.OutputCause(&invariant.History{Changelog: changes}))
	if !w.options.NoRefold {
		errs = append(errs, w.refold(ctx, records))
	}
	return errors.Join(errs...)
}

// changelog turns the records of a changelog into what the judges know.
func changelog(records []*kgo.Record) ([]invariant.Change, error) {
	var list []invariant.Change
	for _, r := range records {
		c := invariant.Change{At: invariant.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}}
		m, err := changelogpb.DecodeMarker(r.Key, r.Value)
		switch {
		case err != nil:
			return nil, err
		case m != nil:
			c.Marker = &invariant.Marker{Sequence: m.GetSequence(), Epoch: m.GetOwnerEpoch(), Next: positions(m)}
		case changelogpb.IsSystem(r.Key):
			continue
		default:
			c.Key, c.Value, c.Delete = string(r.Key), string(r.Value), r.Value == nil
		}
		list = append(list, c)
	}
	return list, nil
}
