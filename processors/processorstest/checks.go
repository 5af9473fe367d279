package processorstest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/internal/invariant"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/changelogpb"
)

// committed returns the group's offsets, by partition and topic.
func (h *Harness) committed(ctx context.Context) (map[int32]map[string]int64, error) {
	got, err := kadm.NewClient(h.client).FetchOffsets(kadm.RequireStable(ctx), h.options.Processor.App)
	if err == nil {
		err = got.Error()
	}
	if errors.Is(err, kerr.GroupIDNotFound) { // no process has joined yet
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

// compareStores compares the stores with the group's offsets while the processes run. It reads the
// stores first: a commit in between cannot make a correct store look wrong.
func (h *Harness) compareStores(ctx context.Context) {
	defer close(h.compareDone)
	for pause.For(ctx, cmp.Or(h.options.CheckInterval, 100*time.Millisecond)) {
		list, err := h.readStores(readNext)
		if err != nil { // the runtime notices a store that cannot be read
			continue
		}
		committed, err := h.committed(ctx)
		if err != nil { // failing brokers are a part of the test
			continue
		}
		dropUnknown(list, committed)
		h.mu.Lock()
		h.comparisons++
		if len(h.storesAhead) == 0 {
			h.storesAhead = checkStoresAhead(list, committed)
		}
		h.mu.Unlock()
	}
}

// dropUnknown removes the inputs that an answer of the brokers leaves out. An answer that a test
// makes fail can be empty, without an error.
func dropUnknown(list []storeContents, committed map[int32]map[string]int64) {
	for _, c := range list {
		for p, s := range c.stores {
			maps.DeleteFunc(s.Next, func(topic string, _ int64) bool {
				_, known := committed[p][topic]
				return !known
			})
		}
	}
}

func checkStoresAhead(list []storeContents, committed map[int32]map[string]int64) (errs []error) {
	for _, c := range list {
		if err := invariant.StoreNotAhead(&invariant.History{Stores: c.stores, Committed: committed}); err != nil {
			errs = append(errs, fmt.Errorf("process %s: %w", c.process, err))
		}
	}
	return errs
}

// end stops every process in the usual way and runs the checks.
func (h *Harness) end() error {
	var errs []error
	for _, guest := range h.guests {
		if err := guest.end(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", guest.options.Processor.App, err))
		}
	}
	return errors.Join(append(errs, h.endOwn())...)
}

// endOwn is end without the other processors on the same brokers.
func (h *Harness) endOwn() error {
	running, err := h.readStores(readStore)
	for _, p := range h.running() {
		p.Thaw()
		p.Heal()
		if e := p.stop(); e != nil {
			err = errors.Join(err, fmt.Errorf("process %s: %w", p.name, e))
		}
	}
	h.stopCompare()
	<-h.compareDone
	if err != nil || h.options.NoChecks {
		return err
	}
	closed, err := h.readClosedStores()
	if err != nil {
		return err
	}
	return h.check(slices.Concat(running, closed))
}

// check runs the checks of the package comment.
func (h *Harness) check(list []storeContents) error {
	ctx := context.Background()
	committed, err := h.committed(ctx)
	if err != nil {
		return err
	}
	records, err := h.sim.Read(ctx, h.options.Processor.Changelog)
	if err != nil {
		return err
	}
	changes, err := changelog(records)
	if err != nil {
		return err
	}
	errs := append(checkStoresAhead(list, committed), h.storesAhead...)
	for _, c := range list {
		if err := invariant.ChangelogState(&invariant.History{Changelog: changes, Stores: c.stores}); err != nil {
			errs = append(errs, fmt.Errorf("process %s: %w", c.process, err))
		}
	}
	errs = append(errs, invariant.Transactions(&invariant.History{Changelog: changes}))
	if !h.options.NoRefold {
		errs = append(errs, h.refold(ctx, records))
	}
	return errors.Join(errs...)
}

// changelog converts the records of a changelog for package invariant.
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
