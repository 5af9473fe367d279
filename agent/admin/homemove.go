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

// HomeMove says where the home goes.
type HomeMove struct {
	To string
	// DeadSince is a time since when, for certain, nothing has been written through the home there is. It is needed if that is lost. The
	// home moves when its region lease has passed since.
	DeadSince time.Time
	// Wait is told how long it waits until nobody puts anything through the home before. Defaults to nothing.
	Wait func(time.Duration)
}

// MoveHome makes another region the one that settings and new resources are written through. A fence goes through the home there is:
// first its own row, after which nobody begins to put in anything there, then, when whoever had begun is done, row by row: each becomes
// the new home's at its next version. That one goes on once it has all of them. It can be run again at any time, and ends what was
// interrupted.
//
// Where the home is lost the new one takes the latest copy of each row that a live region has, all of which have to answer, at a version
// that is greater by far.
func (a *Admin) MoveHome(ctx context.Context, m HomeMove) (Home, error) {
	if !slices.Contains(a.regions, m.To) {
		return Home{}, fmt.Errorf("%w: %s is none of the configured regions %v", ErrInvalid, m.To, a.regions)
	}
	now, silent, err := a.newestHome(ctx)
	switch {
	case silent[m.To] != nil:
		return Home{}, silent[m.To]
	case now.version == 0 && silent[a.home()] != nil:
		return Home{}, err
	case now.version == 0:
		now.region = a.home()
	}
	if now.region != m.To || now.moving {
		move := &homeMove{a: a, HomeMove: m, from: now.region}
		switch {
		case now.moving && now.region != m.To:
			return Home{}, fmt.Errorf("%w: it is on its way to %s: first weir region home %s, with the same --dead-since if any", ErrHome, now.region, now.region)
		case now.moving:
			move.from = now.from
		}
		if m.DeadSince.IsZero() {
			err = move.moveFromLive(ctx)
		} else {
			err = move.moveFromLost(ctx, now)
		}
		if err != nil {
			return Home{}, err
		}
	}
	return a.Home(ctx)
}

// homeMove is a move at work.
type homeMove struct {
	a *Admin
	HomeMove
	from string
}

// moveFromLive moves the home from a region that answers.
func (m *homeMove) moveFromLive(ctx context.Context) error {
	h, err := m.a.homeRow(ctx, m.from)
	if err != nil {
		return fmt.Errorf("%w; if the home is lost, say since when: weir region home %s --dead-since TIME", err, m.To)
	}
	if err := m.checkTarget(ctx, m.from); err != nil {
		return err
	}
	switch {
	case h.version > 0 && h.region == m.To: // the fence is there
	case h.version > 0 && h.region != m.from:
		return fmt.Errorf("the home's row: %w", ErrChanged)
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

// checkTarget says why To cannot be the home, as a region has its settings.
func (m *homeMove) checkTarget(ctx context.Context, at string) error {
	r, err := get(ctx, m.a, at, Region{Region: m.To})
	if err == nil && r.State == table.Adopted {
		err = fmt.Errorf("%w: %s was adopted by %s: take it in again first, weir region adopt %s --undo", ErrInvalid, &r, r.AdoptedBy, m.To)
	}
	return err
}

// fence makes the rows of settings To's, through from, and gives their versions.
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
	return nil, fmt.Errorf("the rows of %s: %w", m.from, ErrChanged)
}

// put makes a row To's.
func (m *homeMove) put(ctx context.Context, through string, item table.Item, version int64, over table.Expect) (bool, error) {
	item = maps.Clone(item)
	item[table.Version], item[table.WriterRegion] = table.N(version), table.S(m.To)
	_, ok, err := m.a.table.Put(ctx, through, item, over)
	return ok, err
}

// closeOwn ends what from vouches for itself: only the home does.
func (m *homeMove) closeOwn(ctx context.Context) error {
	return m.a.updateOwn(ctx, m.from, func(own *writeLease) bool {
		nothing := own.closed || own.version == 0
		own.closed = true
		return nothing
	})
}

// maxCopyDelay is how long copies of settings may take to reach the new home.
const maxCopyDelay = time.Minute

// awaitCopies waits until To has all rows as they are at from now, and the fence.
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
			return fmt.Errorf("%w: %d rows have not come to %s yet: run it again, or, if %s is cut off, say since when nothing is written there", ErrChanged, missing, m.To, m.from)
		}
		if !pause.For(ctx, 200*time.Millisecond) {
			return ctx.Err()
		}
	}
}

// finish lets To begin.
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

// openOwn lets To vouch for itself from now on. It does so once: where the home before was the only other region nobody else can.
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

// homeRows are all rows of settings, as a region has them.
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
