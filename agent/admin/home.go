package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/table"
)

// homeAge is how long what was read of the home holds: whatever is put where nothing was is put by then. So that long after the home
// was fenced off nobody puts anything through it any more, and another may. It must be the same everywhere.
const homeAge = 10 * time.Second

// viaHome does what is written through the home: after a look at the home's row, through its endpoint, that is young enough, and as
// long as that look holds.
func (a *Admin) viaHome(ctx context.Context, do func(context.Context) error) error {
	a.mu.Lock()
	checked := a.checked
	a.mu.Unlock()
	if time.Since(checked) > homeAge/3 {
		checked = time.Now()
		before, lost, err := a.checkHome(ctx)
		if err != nil {
			return err
		}
		a.mu.Lock()
		a.checked, a.formerHomes, a.lostHome = checked, before, lost
		a.mu.Unlock()
	}
	ctx, cancel := context.WithDeadline(ctx, checked.Add(homeAge))
	defer cancel()
	return do(ctx)
}

// checkHome says why settings and new resources cannot be written through the configured home now. before are the regions that may know
// of resources that came in before it was the home and are not known there yet, and lost is the one of them that need not answer.
func (a *Admin) checkHome(ctx context.Context) (before []string, lost string, err error) {
	h, err := a.homeRow(ctx, a.home())
	if err == nil && h.version == 0 {
		h, err = a.createHomeRow(ctx)
	}
	switch {
	case err != nil:
		return nil, "", err
	case h.region != a.home():
		return nil, "", a.homeMismatch(h)
	case h.moving:
		return nil, "", fmt.Errorf("%w: they are on their way to %s from %s: weir region home %s ends that", ErrHome, h.region, h.from, h.region)
	}
	st, err := a.homeState(ctx, a.home())
	if err != nil {
		return nil, "", err
	}
	if h.from != "" && time.Since(h.updated) < homeMoveWindow {
		if before = st.live; h.dead {
			lost = h.from
		}
	}
	if st.confirmed {
		return before, lost, nil
	}
	return before, lost, a.confirmHome(ctx, h, st.live)
}

// homeState is what the home's own copies say of it.
type homeState struct {
	settings    []table.Item                // of all regions
	writeLeases map[string]table.WriteLease // theirs
	rows        map[string]table.Item       // by which they may lease, by sort key
	live        []string                    // other regions that were not adopted
	// confirmed says that it cannot have been given up: it has no region lease, or its own word that it goes on holds, or there is none
	// who would know better. What others say of it does not count: that may have been said before they gave it up.
	confirmed bool
}

func (a *Admin) homeState(ctx context.Context, home string) (st homeState, err error) {
	if st.settings, err = a.table.Query(ctx, home, lease.RegionRow("").Partition); err != nil {
		return st, err
	}
	items, err := a.table.Query(ctx, home, lease.WriteLeases)
	if err != nil {
		return st, err
	}
	if st.writeLeases, err = table.WriteLeasesOf(st.settings, items); err != nil {
		return st, err
	}
	st.rows = make(map[string]table.Item, len(items))
	for _, item := range items {
		st.rows[table.Text(item, table.SK)] = item
	}
	for region, limit := range st.writeLeases {
		if region != home && limit.AdoptedBy == "" {
			st.live = append(st.live, region)
		}
	}
	self, err := writeLeaseOf(home, home, st.rows[lease.WriteLeaseRow(home, home).Sort])
	own := st.writeLeases[home]
	word := table.WriteLease{Until: max(1, self.until)}
	switch {
	case own.AdoptedBy != "" || self.closed:
	case own.Until <= 1 || len(st.live) == 0: // without lease, or without anybody's word
		st.confirmed = true
	default:
		st.confirmed = word.Check(time.Now(), a.table.Skew, a.table.Timeout) == nil
	}
	return st, err
}

// homeMoveWindow is how long after a move new resources are looked for in other regions, too.
const homeMoveWindow = 24 * time.Hour

func (a *Admin) homeMismatch(h homeRow) error {
	return fmt.Errorf("%w: set leases.home to %s, it is %s", ErrHome, h.region, a.home())
}

// confirmHome asks other regions whether the home is the home when its own word does not hold: nobody has run its executor for as long as
// its region lease, or it was lost and is back, and they know better. One of them has to answer.
func (a *Admin) confirmHome(ctx context.Context, h homeRow, live []string) error {
	rows, silent := make([]homeRow, len(live)), map[string]error{}
	a.eachRegion(live, func(i int, region string) (err error) {
		rows[i], err = a.homeRow(ctx, region)
		return err
	}, silent)
	for _, other := range rows {
		if other.version > h.version && (other.region != h.region || other.moving) {
			return a.homeMismatch(other)
		}
	}
	if len(live) > 0 && len(silent) == len(live) {
		return fmt.Errorf("%w: %s was silent for as long as its region lease, and no other region answers, which would know if it was given up: %w",
			table.ErrNoWriteLease, h.region, silent[live[0]])
	}
	return nil
}

// findInOtherRegions finds those of new resources that another region knows, though the home does not: for some time after the home moved. A
// name that was put in through two homes would have two rows, of which one is lost.
func (a *Admin) findInOtherRegions(ctx context.Context, items []table.Item) (map[lease.PrimaryKey]table.Item, error) {
	a.mu.Lock()
	before, lost := a.formerHomes, a.lostHome
	a.mu.Unlock()
	keys := make([]lease.PrimaryKey, len(items))
	for i, item := range items {
		keys[i] = primary(item)
	}
	all := map[lease.PrimaryKey]table.Item{}
	for _, region := range before {
		found, err := a.table.GetAll(ctx, region, keys)
		if region == lost && errors.Is(err, table.ErrUnavailable) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s, which may know resources that came in before the home moved: %w", region, err)
		}
		for key, item := range found {
			all[key] = item
		}
	}
	return all, nil
}

// homeRow is what a region's copy says of the home.
type homeRow struct {
	region  string // the home
	version int64  // 0: there is no row
	updated time.Time
	from    string // the home before, if there was one
	moving  bool   // not all is there yet
	dead    bool   // from was lost
}

func (a *Admin) homeRow(ctx context.Context, at string) (homeRow, error) {
	item, err := a.table.Get(ctx, at, lease.HomeRow())
	if err != nil {
		return homeRow{}, err
	}
	return homeOf(item)
}

func homeOf(item table.Item) (h homeRow, err error) {
	if item == nil {
		return h, nil
	}
	var ms int64
	if h.version, err = table.Number(item, table.Version); err == nil {
		ms, err = table.Number(item, table.UpdatedMs)
	}
	if err != nil {
		return h, fmt.Errorf("%w: the home's row: %w", table.ErrTable, err)
	}
	h.region, h.updated, h.from = table.Text(item, table.WriterRegion), time.UnixMilli(ms).UTC(), table.Text(item, table.HomeFrom)
	h.moving, h.dead = table.Text(item, table.HomeMoving) != "", table.Text(item, table.HomeDead) != ""
	return h, nil
}

// put writes h through a region, over the row that is expected there.
func (h *homeRow) put(ctx context.Context, a *Admin, at string, over table.Expect) error {
	item := table.PrimaryKey(lease.HomeRow())
	item[table.Version], item[table.UpdatedMs] = table.N(h.version), table.N(h.updated.UnixMilli())
	item[table.WriterRegion], item[table.HomeFrom] = table.S(h.region), table.S(h.from)
	for name, is := range map[string]bool{table.HomeMoving: h.moving, table.HomeDead: h.dead} {
		if is {
			item[name] = table.S("yes")
		}
	}
	_, ok, err := a.table.Put(ctx, at, item, over)
	if err == nil && !ok {
		err = fmt.Errorf("the home's row: %w", ErrChanged)
	}
	return err
}

// createHomeRow writes the home's row of a table that has none. Another home shows by what was written there.
func (a *Admin) createHomeRow(ctx context.Context) (homeRow, error) {
	settings, err := a.table.Query(ctx, a.home(), lease.RegionRow("").Partition)
	if err != nil {
		return homeRow{}, err
	}
	for _, item := range settings {
		if writer := table.Text(item, table.WriterRegion); writer != a.home() {
			return homeRow{region: writer, version: 1}, nil
		}
	}
	h := homeRow{region: a.home(), version: 1, updated: time.Now()}
	err = h.put(ctx, a, a.home(), table.Expect{})
	if errors.Is(err, ErrChanged) {
		return a.homeRow(ctx, a.home())
	}
	return h, err
}

// Home is what the table says of the region that settings and new resources are written through.
type Home struct {
	Home       string    `json:"home"`       // empty: no row says it yet
	Configured string    `json:"configured"` // leases.home
	Agrees     bool      `json:"agrees"`
	Moving     bool      `json:"moving"` // it was not moved to its end: run that again
	From       string    `json:"from"`   // the home before
	Since      time.Time `json:"since,omitzero"`
	Problems   []string  `json:"problems"` // regions that do not answer
}

// Home reads the home's row in all regions that answer; the latest counts.
func (a *Admin) Home(ctx context.Context) (Home, error) {
	h, silent, err := a.newestHome(ctx)
	v := Home{Configured: a.home(), Home: h.region, Agrees: h.region == a.home(), Moving: h.moving, From: h.from, Since: h.updated, Problems: []string{}}
	for _, region := range a.regions {
		if silent[region] != nil {
			v.Problems = append(v.Problems, silent[region].Error())
		}
	}
	if len(silent) == len(a.regions) {
		return v, err
	}
	return v, nil
}

// newestHome is the latest that any of the configured regions knows of the home, and which do not answer. err is of one of them.
func (a *Admin) newestHome(ctx context.Context) (newest homeRow, silent map[string]error, err error) {
	silent = map[string]error{}
	rows := make([]homeRow, len(a.regions))
	a.eachRegion(a.regions, func(i int, region string) (err error) {
		rows[i], err = a.homeRow(ctx, region)
		return err
	}, silent)
	for _, h := range rows {
		if h.version > newest.version {
			newest = h
		}
	}
	for _, e := range silent {
		err = e
	}
	return newest, silent, err
}

// eachRegion does something in each of some regions, all at once: one that does not answer holds up no other. failed gets their errors.
func (a *Admin) eachRegion(regions []string, do func(i int, region string) error, failed map[string]error) {
	errs := make([]error, len(regions))
	var all sync.WaitGroup
	for i, region := range regions {
		all.Go(func() { errs[i] = do(i, region) })
	}
	all.Wait()
	for i, err := range errs {
		if err != nil {
			failed[regions[i]] = err
		}
	}
}

// others are regions without one.
func others(regions []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(regions), func(r string) bool { return r == one })
}
