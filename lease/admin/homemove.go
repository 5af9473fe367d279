package admin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// HomeMove describes a move of the home.
type HomeMove struct {
	To string
	// DeadSince asserts that nothing was written through the present home region since this time.
	// It is needed if that region is lost. The home moves when the term of its write lease has
	// passed since.
	DeadSince time.Time
	// Wait is called with the time for which MoveHome waits until no process writes new rows
	// through the former home. Nil is allowed.
	Wait func(time.Duration)
}

// MoveHome makes another region the home region. If the present home answers, a fence is written
// through it: first the home row, after which no process begins to write new rows through it; then,
// when those that had begun are done, each settings row, which becomes the new home's at its next
// version. The new home begins when it has received all of them.
//
// If the present home is lost (HomeMove.DeadSince), the new home takes the latest copy of each row
// that a live region has, and rewrites it with a version far greater. All live regions have to
// answer.
//
// MoveHome can be repeated at any time; it completes an interrupted move.
func (a *Admin) MoveHome(ctx context.Context, m HomeMove) (HomeStatus, error) {
	if !slices.Contains(a.regions, m.To) {
		return HomeStatus{}, fmt.Errorf("%w: the new home %s is not one of the configured regions %v", ErrInvalid, m.To, a.regions)
	}
	now, silent, err := a.newestHome(ctx)
	switch {
	case silent[m.To] != nil:
		return HomeStatus{}, silent[m.To]
	case now.version == 0 && silent[a.home()] != nil:
		return HomeStatus{}, err
	case now.version == 0:
		now.region = a.home()
	}
	if now.region != m.To || now.moving {
		move := &homeMove{a: a, HomeMove: m, from: now.region}
		switch {
		case now.moving && now.region != m.To:
			return HomeStatus{}, fmt.Errorf("%w: a move to %s is not complete: repeat that move first, with the same DeadSince", ErrHome,
				now.region)
		case now.moving:
			move.from = now.from
		}
		if m.DeadSince.IsZero() {
			err = move.moveFromLive(ctx)
		} else {
			err = move.moveFromLost(ctx, now)
		}
		if err != nil {
			return HomeStatus{}, err
		}
	}
	return a.Home(ctx)
}

// homeMove is a move in progress.
type homeMove struct {
	a *Admin
	HomeMove
	from string
}

// moveFromLive moves the home from a region that answers.
func (m *homeMove) moveFromLive(ctx context.Context) error {
	h, err := m.a.homeRow(ctx, m.from)
	if err != nil {
		return fmt.Errorf("%w; if the home region is lost, assert since when nothing was written there: %w", err, ErrNoFence)
	}
	if err := m.checkTarget(ctx, m.from); err != nil {
		return err
	}
	switch {
	case h.version > 0 && h.region == m.To: // an interrupted move has written the fence
	case h.version > 0 && h.region != m.from:
		return fmt.Errorf("home row: %w", ErrVersionConflict)
	default:
		expect := table.Expect{}
		if h.version > 0 {
			expect = table.Expect{Version: h.version, Writer: m.from}
		}
		h = homeRow{region: m.To, version: h.version + 1, updated: time.Now(), from: m.from, moving: true}
		if err := h.put(ctx, m.a, m.from, expect); err != nil {
			return err
		}
	}
	if left := time.Until(h.updated.Add(homeAge + 2*m.a.table.Skew)); h.moving && left > 0 {
		if m.Wait != nil {
			m.Wait(left)
		}
		if !pause.For(ctx, left) {
			return ctx.Err()
		}
	}
	rows, err := m.fence(ctx)
	if err != nil {
		return err
	}
	if err := m.awaitCopies(ctx, rows, h.version); err != nil {
		return err
	}
	return m.finish(ctx)
}

// checkTarget returns an error if the new home's settings, as region at has them, forbid the move.
func (m *homeMove) checkTarget(ctx context.Context, at string) error {
	r, err := get(ctx, m.a, at, Region{Region: m.To})
	if err == nil && r.State == table.RegionAdopted {
		err = fmt.Errorf("%w: %s was adopted by %s: readmit it first", ErrInvalid, &r, r.AdoptedBy)
	}
	return err
}

// fence rewrites the settings rows for the new home, through the former home, and returns their
// versions.
func (m *homeMove) fence(ctx context.Context) (versions map[lease.PrimaryKey]int64, err error) {
	for range 10 {
		rows, err := m.a.homeRows(ctx, m.from)
		if err != nil {
			return nil, err
		}
		versions, done := map[lease.PrimaryKey]int64{}, true
		for key, item := range rows {
			version, err := table.Number(item, table.Version)
			if err != nil {
				return nil, fmt.Errorf("%w: row %s of %s: %w", table.ErrTable, key.Sort, key.Partition, err)
			}
			if table.Text(item, table.WriterRegion) == m.from {
				over := table.Expect{Version: version, Writer: m.from}
				version++
				ok, err := m.put(ctx, m.from, item, version, over)
				if err != nil {
					return nil, err
				}
				done = done && ok
			}
			versions[key] = version
		}
		if done {
			return versions, m.closeOwn(ctx)
		}
	}
	return nil, fmt.Errorf("rows of %s: %w", m.from, ErrVersionConflict)
}

// put writes a row with the new home as its writer region.
func (m *homeMove) put(ctx context.Context, through string, item table.Item, version int64, over table.Expect) (bool, error) {
	item = maps.Clone(item)
	item[table.Version], item[table.WriterRegion] = table.N(version), table.S(m.To)
	_, ok, err := m.a.table.Put(ctx, through, item, over)
	return ok, err
}

// closeOwn closes the former home's own write lease: only a home region renews its own.
func (m *homeMove) closeOwn(ctx context.Context) error {
	return m.a.updateOwn(ctx, m.from, func(own *writeLease) bool {
		nothing := own.closed || own.version == 0
		own.closed = true
		return nothing
	})
}

// maxCopyDelay is the maximum time for the replication of settings to the new home.
const maxCopyDelay = time.Minute

// awaitCopies waits until the new home has received all rows, at least at these versions, and the
// fence.
func (m *homeMove) awaitCopies(ctx context.Context, rows map[lease.PrimaryKey]int64, home int64) error {
	for begun := time.Now(); ; {
		there, err := m.a.homeRows(ctx, m.To)
		if err != nil {
			return err
		}
		h, err := m.a.homeRow(ctx, m.To)
		if err != nil {
			return err
		}
		missing := 0
		for key, version := range rows {
			if n, err := table.Number(there[key], table.Version); err != nil || n < version {
				missing++
			}
		}
		switch {
		case missing == 0 && h.version >= home:
			return nil
		case time.Since(begun) > maxCopyDelay:
			return fmt.Errorf(
				"%w: %s has not received %d rows: repeat the move; if %s is cut off, assert since when nothing was written there",
				ErrVersionConflict, m.To, missing, m.from)
		}
		if !pause.For(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// finish completes the move: the new home begins.
func (m *homeMove) finish(ctx context.Context) error {
	if err := m.openOwn(ctx); err != nil {
		return err
	}
	h, err := m.a.homeRow(ctx, m.To)
	if err != nil || !h.moving {
		return err
	}
	over := table.Expect{Version: h.version, Writer: m.To}
	h.version, h.moving, h.updated = h.version+1, false, time.Now()
	return h.put(ctx, m.a, m.To, over)
}

// openOwn lets the new home renew its own write lease, and renews it once. If the former home was
// the only other region, no other grantor is left.
func (m *homeMove) openOwn(ctx context.Context) error {
	r, err := get(ctx, m.a, m.To, Region{Region: m.To})
	if err != nil {
		return err
	}
	return m.a.updateOwn(ctx, m.To, func(own *writeLease) bool {
		nothing := r.WriteLease == 0 && !own.closed
		own.closed, own.until = false, max(own.until, time.Now().Add(time.Duration(r.WriteLease)).UnixMilli())
		return nothing
	})
}

// homeRows returns all settings rows, as a region has them.
func (a *Admin) homeRows(ctx context.Context, at string) (map[lease.PrimaryKey]table.Item, error) {
	rows := map[lease.PrimaryKey]table.Item{}
	read := func(partition string) error {
		items, err := a.table.Query(ctx, at, partition)
		for _, item := range items {
			rows[primary(item)] = item
		}
		return err
	}
	clients := lease.ClientRow("").Partition
	if err := read(lease.RegionRow("").Partition); err != nil {
		return nil, err
	}
	if err := read(clients); err != nil {
		return nil, err
	}
	for key := range maps.Clone(rows) {
		if key.Partition == clients {
			if err := read(lease.PoolRow(key.Sort, "").Partition); err != nil {
				return nil, err
			}
		}
	}
	return rows, nil
}
