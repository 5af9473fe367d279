package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
)

// Attributes of settings.
const (
	LongestMs     = "longest_lease_ms"
	LongestEverMs = "longest_ever_ms" // the greatest LongestMs that the row ever had; absent in old rows
	QuarantineMs  = "quarantine_ms"
	Buckets       = "sub_partitions"
	Floors        = "floors"
	Balance       = "balance"
	Duplicates    = "duplicates"
	Forecast      = "forecast"

	RegionState       = "region_state"
	SwingTo           = "swing_to"
	SwingPercent      = "swing_percent"
	WriteLeaseMs      = "region_lease_ms"
	WriteLeaseSinceMs = "region_lease_since_ms"
	SettingsSeenMs    = "heard_ms" // of a beat: updated_ms of the region's settings, as the region has them
	AdoptedBy         = "adopted_by"
	HomeFrom          = "home_from"   // of the home's row: the home before
	HomeMoving        = "home_moving" // of the home's row: it is on its way
	HomeDead          = "home_dead"   // of the home's row: the one before was lost
)

// States of a region.
const (
	Active     = "active"
	Evacuating = "evacuating" // its free resources go to the others, and none come
	Adopted    = "adopted"    // another region has its resources
)

// What settings that are a word may be. The first is the default: what is meant where the row has none.

// BalanceModes are whether a pool's free resources are moved.
func BalanceModes() []string { return []string{"on", "off"} }

// DuplicateModes are what is done about a key that two regions lease.
func DuplicateModes() []string { return []string{"supersede", "observe", "release"} }

// Forecasts are how the need is foretold.
func Forecasts() []string { return []string{"auto", "ewma", "holt", "seasonal"} }

// RegionStates are the states of a region.
func RegionStates() []string { return []string{Active, Evacuating, Adopted} }

// Pool is the settings of a pool.
type Pool struct {
	Client, Name     string
	Version          int64
	LongestLease     time.Duration    // of a lease
	LongestLeaseEver time.Duration    // that Longest was; never less than it
	Quarantine       time.Duration    // after its end
	Buckets          int              // sub-partitions that a region's available resources are spread over
	Floors           map[string]int64 // free resources that a region never gives away, by region
	Balance          string           // one of BalanceModes
	Duplicates       string           // one of DuplicateModes
	Forecast         string           // one of Forecasts
}

// Item is p's row.
func (p *Pool) Item() Item {
	item := PrimaryKey(lease.PoolRow(p.Client, p.Name))
	item[ClientID], item[PoolID], item[Version] = S(p.Client), S(p.Name), N(p.Version)
	item[LongestMs], item[QuarantineMs], item[Buckets] = N(p.LongestLease.Milliseconds()), N(p.Quarantine.Milliseconds()), N(int64(p.Buckets))
	item[LongestEverMs] = N(max(p.LongestLease, p.LongestLeaseEver).Milliseconds())
	item[Balance], item[Duplicates], item[Forecast] = S(p.Balance), S(p.Duplicates), S(p.Forecast)
	if len(p.Floors) > 0 {
		floors := Item{}
		for region, n := range p.Floors {
			floors[region] = N(n)
		}
		item[Floors] = &types.AttributeValueMemberM{Value: floors}
	}
	return item
}

const longestMs = int64(365 * 24 * time.Hour / time.Millisecond) // of any setting

// PoolOf reads a pool's row.
func PoolOf(item Item) (Pool, error) {
	p := Pool{Client: Text(item, ClientID), Name: Text(item, PoolID)}
	var longest, ever, quarantine, shelves int64
	for _, n := range []struct {
		name string
		to   *int64
		most int64
	}{
		{Version, &p.Version, 1 << 62},
		{LongestMs, &longest, longestMs},
		{LongestEverMs, &ever, longestMs},
		{QuarantineMs, &quarantine, longestMs},
		{Buckets, &shelves, 1000},
	} {
		if _, there := item[n.name]; !there && n.name == LongestEverMs {
			continue
		}
		v, err := Number(item, n.name)
		if err != nil {
			return p, err
		}
		if v < 1 || v > n.most {
			return p, fmt.Errorf("attribute %s is %d, not 1 to %d", n.name, v, n.most)
		}
		*n.to = v
	}
	p.LongestLease, p.Quarantine, p.Buckets = time.Duration(longest)*time.Millisecond, time.Duration(quarantine)*time.Millisecond, int(shelves)
	p.LongestLeaseEver = max(p.LongestLease, time.Duration(ever)*time.Millisecond)
	err := readEnums(item, map[string]enum{Balance: {&p.Balance, BalanceModes()}, Duplicates: {&p.Duplicates, DuplicateModes()}, Forecast: {&p.Forecast, Forecasts()}})
	if err == nil {
		p.Floors, err = floors(item)
	}
	return p, err
}

// MaxFloor is the most that a floor can be.
const MaxFloor = 1_000_000_000

func floors(item Item) (map[string]int64, error) {
	v, there := item[Floors]
	if !there {
		return nil, nil
	}
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("attribute %s is no map", Floors)
	}
	all := make(map[string]int64, len(m.Value))
	for region := range m.Value {
		n, err := Number(m.Value, region)
		if err != nil || n < 0 || n > MaxFloor {
			return nil, fmt.Errorf("attribute %s of %s is not 0 to %d", Floors, region, MaxFloor)
		}
		all[region] = n
	}
	return all, nil
}

// enum is a setting that is one of a few words.
type enum struct {
	to *string
	of []string
}

func readEnums(item Item, all map[string]enum) error {
	for name, w := range all {
		if *w.to = Text(item, name); *w.to == "" {
			*w.to = w.of[0]
		}
		if !slices.Contains(w.of, *w.to) {
			return fmt.Errorf("attribute %s is %q, not one of %s", name, *w.to, strings.Join(w.of, ", "))
		}
	}
	return nil
}

// Region is the settings of a region.
type Region struct {
	Name            string
	Version         int64
	State           string        // one of RegionStates
	SwingTo         string        // region that takes over part of its traffic; empty: none
	SwingPercent    int           // how much of it
	WriteLease      time.Duration // how long its agents may begin leases when they hear nothing of the others; 0: for ever
	WriteLeaseSince time.Time     // when Lease was switched on
	AdoptedBy       string        // region that took its resources over
}

// Item is what r has beside its key and version.
func (r *Region) Item() Item {
	item := Item{
		RegionState: S(r.State), SwingTo: S(r.SwingTo), SwingPercent: N(int64(r.SwingPercent)), WriteLeaseMs: N(r.WriteLease.Milliseconds()), AdoptedBy: S(r.AdoptedBy),
	}
	if r.WriteLease > 0 {
		item[WriteLeaseSinceMs] = N(max(0, r.WriteLeaseSince.UnixMilli()))
	}
	return item
}

// RegionOf reads a region's row.
func RegionOf(item Item) (Region, error) {
	r := Region{Name: Text(item, SK), SwingTo: Text(item, SwingTo), AdoptedBy: Text(item, AdoptedBy)}
	err := readEnums(item, map[string]enum{RegionState: {&r.State, RegionStates()}})
	number := func(name string, most int64) (n int64) {
		if _, there := item[name]; there && err == nil {
			if n, err = Number(item, name); err == nil && (n < 0 || n > most) {
				err = fmt.Errorf("attribute %s is %d, not 0 to %d", name, n, most)
			}
		}
		return n
	}
	r.Version = number(Version, 1<<62)
	r.SwingPercent = int(number(SwingPercent, 100))
	if r.WriteLease = time.Duration(number(WriteLeaseMs, longestMs)) * time.Millisecond; r.WriteLease > 0 {
		r.WriteLeaseSince = time.UnixMilli(number(WriteLeaseSinceMs, 1<<52))
	}
	return r, err
}

// Text is an attribute that is a string, or "".
func Text(item Item, name string) string {
	if s, ok := item[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
