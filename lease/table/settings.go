package table

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/weirhq/weir/lease"
)

// Values of RegionState.
const (
	RegionActive     = "active"
	RegionEvacuating = "evacuating" // its free resources move to other regions, and none come
	RegionAdopted    = "adopted"    // another region owns its resources
)

// Values of settings that are enumerations. The first value is the default, for rows without the
// attribute.

// BalanceModes are the values of Balance: whether the balancer transfers a pool's free resources.
func BalanceModes() []string { return []string{"on", "off"} }

// DuplicateModes are the values of Duplicates: what dedup does with a key that two regions lease.
func DuplicateModes() []string { return []string{"supersede", "observe", "release"} }

// Forecasts are the forecast methods, the values of Forecast.
func Forecasts() []string { return []string{"auto", "ewma", "holt", "seasonal"} }

// RegionStates are the values of RegionState.
func RegionStates() []string { return []string{RegionActive, RegionEvacuating, RegionAdopted} }

// Pool holds the settings of a pool.
type Pool struct {
	Client, Name     string
	Version          int64
	LongestLease     time.Duration    // maximum lease term
	LongestLeaseEver time.Duration    // greatest LongestLease that the pool ever had
	Quarantine       time.Duration    // time after a lease's end in which no other key gets the resource
	Buckets          int              // index partitions for each region
	Floors           map[string]int64 // free resources that a region keeps, by region
	Balance          string           // one of BalanceModes
	Duplicates       string           // one of DuplicateModes
	Forecast         string           // one of Forecasts
}

// Item returns the item of p.
func (p *Pool) Item() Item {
	item := PrimaryKey(lease.PoolRow(p.Client, p.Name))
	item[ClientID], item[PoolID], item[Version] = S(p.Client), S(p.Name), N(p.Version)
	item[LongestLeaseMs], item[QuarantineMs], item[Buckets] = N(p.LongestLease.Milliseconds()), N(p.Quarantine.Milliseconds()),
		N(int64(p.Buckets))
	item[LongestLeaseEverMs] = N(max(p.LongestLease, p.LongestLeaseEver).Milliseconds())
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

const maxSettingMs = int64(365 * 24 * time.Hour / time.Millisecond) // upper limit of every duration

// PoolOf reads the settings row of a pool.
func PoolOf(item Item) (Pool, error) {
	p := Pool{Client: Text(item, ClientID), Name: Text(item, PoolID)}
	var longest, ever, quarantine, buckets int64
	for _, n := range []struct {
		name string
		to   *int64
		most int64
	}{
		{Version, &p.Version, 1 << 62},
		{LongestLeaseMs, &longest, maxSettingMs},
		{LongestLeaseEverMs, &ever, maxSettingMs},
		{QuarantineMs, &quarantine, maxSettingMs},
		{Buckets, &buckets, 1000},
	} {
		if _, there := item[n.name]; !there && n.name == LongestLeaseEverMs {
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
	p.LongestLease, p.Quarantine, p.Buckets = time.Duration(longest)*time.Millisecond, time.Duration(quarantine)*time.Millisecond,
		int(buckets)
	p.LongestLeaseEver = max(p.LongestLease, time.Duration(ever)*time.Millisecond)
	err := readEnums(item,
		map[string]enum{
			Balance: {&p.Balance, BalanceModes()}, Duplicates: {&p.Duplicates, DuplicateModes()}, Forecast: {&p.Forecast, Forecasts()},
		})
	if err == nil {
		p.Floors, err = floors(item)
	}
	return p, err
}

// MaxFloor is the upper limit of a floor.
const MaxFloor = 1_000_000_000

func floors(item Item) (map[string]int64, error) {
	v, there := item[Floors]
	if !there {
		return nil, nil
	}
	m, ok := v.(*types.AttributeValueMemberM)
	if !ok {
		return nil, fmt.Errorf("attribute %s is not a map", Floors)
	}
	all := make(map[string]int64, len(m.Value))
	for region := range m.Value {
		n, err := Number(m.Value, region)
		if err != nil || n < 0 || n > MaxFloor {
			return nil, fmt.Errorf("attribute %s: the floor of %s is not 0 to %d", Floors, region, MaxFloor)
		}
		all[region] = n
	}
	return all, nil
}

// enum is an enumeration and the variable that receives its value.
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

// Region holds the settings of a region.
type Region struct {
	Name            string
	Version         int64
	State           string        // one of RegionStates
	SwingTo         string        // region to which a share of the traffic is about to move; empty: none
	SwingPercent    int           // that share
	WriteLease      time.Duration // term of the write lease; 0: the region needs none
	WriteLeaseSince time.Time     // when WriteLease was switched on
	AdoptedBy       string        // region that adopted the resources; empty: none
}

// Item returns the attributes of r, without its key and version.
func (r *Region) Item() Item {
	item := Item{
		RegionState: S(r.State), SwingTo: S(r.SwingTo), SwingPercent: N(int64(r.SwingPercent)),
		WriteLeaseMs: N(r.WriteLease.Milliseconds()), AdoptedBy: S(r.AdoptedBy),
	}
	if r.WriteLease > 0 {
		item[WriteLeaseSinceMs] = N(max(0, r.WriteLeaseSince.UnixMilli()))
	}
	return item
}

// RegionOf reads the settings row of a region.
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
	if r.WriteLease = time.Duration(number(WriteLeaseMs, maxSettingMs)) * time.Millisecond; r.WriteLease > 0 {
		r.WriteLeaseSince = time.UnixMilli(number(WriteLeaseSinceMs, 1<<52))
	}
	return r, err
}

// Text returns a string attribute, "" if it is absent.
func Text(item Item, name string) string {
	if s, ok := item[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
