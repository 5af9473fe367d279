package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// moveFromLost moves the home from a region that is lost. now is the latest that is known of the home's row.
func (m *homeMove) moveFromLost(ctx context.Context, now homeRow) error {
	if err := m.checkTarget(ctx, m.To); err != nil {
		return err
	}
	until, err := m.ownLeaseEnd(ctx)
	if err != nil {
		return err
	}
	// As in Adopt: what was written last may bear a time that is as much later, and ours one that is as much earlier; so may our clock.
	if at := until.Add(3 * m.a.table.Skew); !time.Now().After(at) {
		return &EarlyError{m.from, at}
	}
	live, err := m.a.liveRegions(ctx, m.To, m.To, m.from)
	if err != nil {
		return err
	}
	live = append([]string{m.To}, live...) // whose copies count, To's first
	copies, failed := make([]map[lease.PrimaryKey]table.Item, len(live)), map[string]error{}
	m.a.eachRegion(live, func(i int, region string) (err error) {
		copies[i], err = m.a.homeRows(ctx, region)
		return err
	}, failed)
	homes := make([]homeRow, len(live))
	m.a.eachRegion(live, func(i int, region string) (err error) {
		homes[i], err = m.a.homeRow(ctx, region)
		return err
	}, failed)
	for region, err := range failed {
		return fmt.Errorf("%s has to answer, as it may have what no other region has of %s: %w", region, m.from, err)
	}
	for _, h := range homes {
		if h.version > 0 && h.region != m.from && h.region != m.To {
			return fmt.Errorf("the home's row: %w", ErrChanged)
		}
	}
	here := homes[0]
	if !here.moving || here.region != m.To || !here.dead {
		over := table.Expect{}
		if here.version > 0 {
			over = table.Expect{Version: here.version, Writer: here.region}
		}
		h := homeRow{region: m.To, version: max(now.version, here.version) + 1 + lease.AdoptedVersionJump, updated: time.Now(), from: m.from, moving: true, dead: true}
		if err := h.put(ctx, m.a, m.To, over); err != nil {
			return err
		}
		here = h
	}
	if err := m.take(ctx, copies); err != nil {
		return err
	}
	if err := m.closeLost(ctx, until); err != nil {
		return err
	}
	if err := m.awaitLearned(ctx, live, here.version); err != nil {
		return err
	}
	return m.finish(ctx)
}

// ownLeaseEnd is until when the lost home may go on by what it said of itself: should it be back soon it must find that this is over.
func (m *homeMove) ownLeaseEnd(ctx context.Context) (time.Time, error) {
	lost, err := get(ctx, m.a, m.To, Region{Region: m.from})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return time.Time{}, err
	}
	row, err := m.a.readWriteLease(ctx, m.To, m.from, m.from)
	until := m.DeadSince.Add(time.Duration(lost.WriteLease))
	if known := time.UnixMilli(row.until); known.After(until) {
		until = known
	}
	return until, err
}

// awaitLearned waits until all live regions know who the home is: whichever of them the lost one asks when it is back has to tell it.
func (m *homeMove) awaitLearned(ctx context.Context, live []string, version int64) error {
	for begun := time.Now(); ; {
		var late string
		for _, region := range live {
			h, err := m.a.homeRow(ctx, region)
			if err != nil {
				return err
			}
			if h.version < version {
				late = region
			}
		}
		switch {
		case late == "":
			return nil
		case time.Since(begun) > maxCopyDelay:
			return fmt.Errorf("%w: %s does not hear %s: run it again when it does", ErrChanged, late, m.To)
		}
		if !pause.For(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// take makes the latest copy of each row To's, where the lost home, or a move that did not come to its end, has left it. copies are by
// region, To's first.
func (m *homeMove) take(ctx context.Context, copies []map[lease.PrimaryKey]table.Item) error {
	latest := map[lease.PrimaryKey]table.Item{}
	version := func(item table.Item) int64 {
		n, err := table.Number(item, table.Version)
		if err != nil {
			return 0
		}
		return n
	}
	for _, rows := range copies {
		for key, item := range rows {
			if version(item) > version(latest[key]) {
				latest[key] = item
			}
		}
	}
	for key, item := range latest {
		here := copies[0][key]
		if version(here) == version(item) && table.Text(here, table.WriterRegion) == m.To {
			continue
		}
		over := table.Expect{}
		if here != nil {
			over = table.Expect{Version: version(here), Writer: table.Text(here, table.WriterRegion)}
		}
		ok, err := m.put(ctx, m.To, item, version(item)+1+lease.AdoptedVersionJump, over)
		if err == nil && !ok {
			err = fmt.Errorf("row %s of %s: %w", key.Sort, key.Partition, ErrChanged)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// closeLost ends, as To has it, what the lost home vouched for itself: should it come back it finds that it may not go on.
func (m *homeMove) closeLost(ctx context.Context, until time.Time) error {
	row, err := m.a.readWriteLease(ctx, m.To, m.from, m.from)
	if err != nil || row.closed {
		return err
	}
	row.closed, row.until, row.versionJump = true, max(row.until, until.UnixMilli()), lease.AdoptedVersionJump
	ok, err := row.put(ctx, m.a, m.To)
	if err == nil && !ok {
		err = fmt.Errorf("the region lease of %s: %w", m.from, ErrChanged)
	}
	return err
}
