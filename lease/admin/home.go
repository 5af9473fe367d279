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

// homeAge is the time for which a read of the home row permits writes of new rows. So a homeAge
// after a fence no process writes new rows through the former home. It must be the same in all
// processes.
const homeAge = 10 * time.Second

// viaHome runs a write through the home region. It reads the home row first, through the home's
// endpoint, unless the last read is young enough; do may run as long as that read permits.
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

// checkHome returns an error if settings and new resources cannot be written through the configured
// home region now. before are the regions that may know resources which the home region has not
// received yet; lost is the one of them that need not answer.
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
		return nil, "", fmt.Errorf("%w: the move of the home from %s to %s is not complete: repeat it", ErrHome, h.from, h.region)
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

// homeState is what the home region's replica contains about the home and the write leases.
type homeState struct {
	settings    []table.Item                // of all regions
	writeLeases map[string]table.WriteLease // of all regions
	rows        map[string]table.Item       // of partition lease.WriteLeasePartition, by sort key
	live        []string                    // other regions that were not adopted
	// confirmed means that the home cannot have moved without the home region's knowledge: it needs
	// no write lease, or its own renewal has not ended, or there is no other live region. Renewals
	// by other regions do not count: they may be older than the move.
	confirmed bool
}

func (a *Admin) homeState(ctx context.Context, home string) (st homeState, err error) {
	if st.settings, err = a.table.Query(ctx, home, lease.RegionRow("").Partition); err != nil {
		return st, err
	}
	items, err := a.table.Query(ctx, home, lease.WriteLeasePartition)
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
	renewal := table.WriteLease{Until: max(1, self.until)}
	switch {
	case own.AdoptedBy != "" || self.closed:
	case own.Until <= 1 || len(st.live) == 0: // needs no write lease, or no grantor has renewed it
		st.confirmed = true
	default:
		st.confirmed = renewal.Check(time.Now(), a.table.Skew, a.table.Timeout) == nil
	}
	return st, err
}

// homeMoveWindow is the time after a move in which new resources are looked up in the other
// regions.
const homeMoveWindow = 24 * time.Hour

func (a *Admin) homeMismatch(h homeRow) error {
	return &HomeError{Home: h.region, Configured: a.home()}
}

// confirmHome asks the other live regions whether the home has moved. It is needed when the home
// region's own write lease has ended: no executor of it ran for that long, or it was lost and is
// back. One of them has to answer.
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
		return fmt.Errorf(
			"%w: the write lease that home region %s renews for itself has ended, and no other region answers whether the home has moved: %w",
			table.ErrNoWriteLease, h.region, silent[live[0]])
	}
	return nil
}

// findInOtherRegions returns those of the new resources that another region knows, in the time
// after a move of the home. A name that was added through two home regions would have two rows, and
// one is lost.
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
			return nil, fmt.Errorf("%s has to answer, because it may know resources that were added before the home moved: %w", region, err)
		}
		for key, item := range found {
			all[key] = item
		}
	}
	return all, nil
}

// homeRow is the home row, as one region has it.
type homeRow struct {
	region  string // home region
	version int64  // 0: there is no row
	updated time.Time
	from    string // former home region, if there was one
	moving  bool   // the move is not complete
	dead    bool   // the former home region was lost
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
		return h, fmt.Errorf("%w: home row: %w", table.ErrTable, err)
	}
	h.region, h.updated, h.from = table.Text(item, table.WriterRegion), time.UnixMilli(ms).UTC(), table.Text(item, table.HomeFrom)
	h.moving, h.dead = table.Bool(item, table.HomeMoving), table.Bool(item, table.HomeFromLost)
	return h, nil
}

// put writes h through a region, if the row there is the expected one.
func (h *homeRow) put(ctx context.Context, a *Admin, at string, over table.Expect) error {
	item := table.PrimaryKey(lease.HomeRow())
	item[table.Version], item[table.UpdatedMs] = table.N(h.version), table.N(h.updated.UnixMilli())
	item[table.WriterRegion], item[table.HomeFrom] = table.S(h.region), table.S(h.from)
	for name, is := range map[string]bool{table.HomeMoving: h.moving, table.HomeFromLost: h.dead} {
		if is {
			item[name] = table.B(true)
		}
	}
	_, ok, err := a.table.Put(ctx, at, item, over)
	if err == nil && !ok {
		err = fmt.Errorf("home row: %w", ErrVersionConflict)
	}
	return err
}

// createHomeRow writes the home row of a table that has none. If settings were written through
// another region, that region is the home.
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
	if errors.Is(err, ErrVersionConflict) {
		return a.homeRow(ctx, a.home())
	}
	return h, err
}

// HomeStatus is the home region, as the table names it.
type HomeStatus struct {
	Home       string    `json:"home"`       // empty: no row names it yet
	Configured string    `json:"configured"` // Config.Home
	Agrees     bool      `json:"agrees"`
	Moving     bool      `json:"moving"` // a move is not complete: repeat it
	From       string    `json:"from"`   // former home region
	Since      time.Time `json:"since,omitzero"`
	Problems   []string  `json:"problems"` // errors of regions that do not answer
}

// Home reads the home row in all regions, and returns the latest version.
func (a *Admin) Home(ctx context.Context) (HomeStatus, error) {
	h, silent, err := a.newestHome(ctx)
	v := HomeStatus{
		Configured: a.home(), Home: h.region, Agrees: h.region == a.home(), Moving: h.moving, From: h.from, Since: h.updated,
		Problems: []string{},
	}
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

// newestHome returns the latest version of the home row in any region, and the errors of regions
// that do not answer. err is one of these errors.
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

// eachRegion runs do for each region concurrently, so that one that does not answer delays no
// other. failed receives the errors.
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

// others returns regions without one.
func others(regions []string, one string) []string {
	return slices.DeleteFunc(slices.Clone(regions), func(r string) bool { return r == one })
}
