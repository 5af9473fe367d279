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

// moveFromLost moves the home from a lost region. now is the latest known version of the home row.
func (m *homeMove) moveFromLost(ctx context.Context, now homeRow) error {
	if err := m.checkTarget(ctx, m.To); err != nil {
		return err
	}
	until, err := m.ownLeaseEnd(ctx)
	if err != nil {
		return err
	}
	// Three times the skew: the clock of the last write may be ahead, that of the next write
	// behind, and that of this process ahead.
	if at := until.Add(3 * m.a.table.Skew); !time.Now().After(at) {
		return &EarlyError{m.from, at}
	}
	live, err := m.a.liveRegions(ctx, m.To, m.To, m.from)
	if err != nil {
		return err
	}
	live = append([]string{m.To}, live...) // regions whose copies are compared, the new home first
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
		return fmt.Errorf("%s has to answer, because it may have the latest copy of settings of %s: %w", region, m.from, err)
	}
	for _, h := range homes {
		if h.version > 0 && h.region != m.from && h.region != m.To {
			return fmt.Errorf("home row: %w", ErrVersionConflict)
		}
	}
	here := homes[0]
	if !here.moving || here.region != m.To || !here.dead {
		over := table.Expect{}
		if here.version > 0 {
			over = table.Expect{Version: here.version, Writer: here.region}
		}
		h := homeRow{
			region: m.To, version: max(now.version, here.version) + 1 + lease.AdoptedVersionJump, updated: time.Now(), from: m.from,
			moving: true, dead: true,
		}
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

// ownLeaseEnd returns the end of the lost home's own write lease. If it is back soon, it must find
// that its write lease has ended.
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

// awaitLearned waits until all live regions have the new home row, so that each of them can answer
// the lost region when it is back.
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
			return fmt.Errorf("%w: %s has not received the rows of %s: repeat the move when it has", ErrVersionConflict, late, m.To)
		}
		if !pause.For(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// take rewrites the latest copy of each row through the new home, unless an earlier, interrupted
// move has done it. copies are by region, the new home's first.
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
			err = fmt.Errorf("row %s of %s: %w", key.Sort, key.Partition, ErrVersionConflict)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// closeLost closes the lost home's own write lease, as the new home has it. If the lost home is
// back, it finds that it must not renew it.
func (m *homeMove) closeLost(ctx context.Context, until time.Time) error {
	row, err := m.a.readWriteLease(ctx, m.To, m.from, m.from)
	if err != nil || row.closed {
		return err
	}
	row.closed, row.until, row.versionJump = true, max(row.until, until.UnixMilli()), lease.AdoptedVersionJump
	ok, err := row.put(ctx, m.a, m.To)
	if err == nil && !ok {
		err = fmt.Errorf("write lease of %s: %w", m.from, ErrVersionConflict)
	}
	return err
}
