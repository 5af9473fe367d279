package admin_test

import (
	"strings"
	"testing"
	"time"

	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
	leasetable "github.com/weirhq/weir/lease/table"
)

// TestDifferencesNotices: a row that one region lacks or has otherwise is reported.
func TestDifferencesNotices(t *testing.T) {
	regions := []string{"eu", "us", "ap"}
	row := func(p lease.PrimaryKey, attributes leasetable.Item) leasetable.Item {
		item := leasetable.PrimaryKey(p)
		for name, v := range attributes {
			item[name] = v
		}
		return item
	}
	for name, c := range map[string]struct {
		plant func(tables map[string][]leasetable.Item)
		want  string // empty: correct
	}{
		"correct":                  {func(map[string][]leasetable.Item) {}, ""},
		"in another order":         {func(x map[string][]leasetable.Item) { x["us"][0], x["us"][1] = x["us"][1], x["us"][0] }, ""},
		"a region lost a resource": {func(x map[string][]leasetable.Item) { x["us"] = x["us"][1:] }, "us has 1 resources, want 2"},
		"all lost a resource": {func(x map[string][]leasetable.Item) {
			x["eu"], x["us"], x["ap"] = x["eu"][1:], x["us"][1:], x["ap"][1:]
		}, "ap has 1 resources, want 2"},
		"a region lost a setting":   {func(x map[string][]leasetable.Item) { x["ap"] = x["ap"][:2] }, "C c is map[] in ap"},
		"the first lost a setting":  {func(x map[string][]leasetable.Item) { x["eu"] = x["eu"][:2] }, "map[] in eu"},
		"a region has one row more": {func(x map[string][]leasetable.Item) { x["us"] = append(x["us"], row(lease.ClientRow("late"), nil)) }, "C late is"},
		"another version":           {func(x map[string][]leasetable.Item) { x["us"][1][leasetable.Version] = leasetable.N(4) }, "in us"},
		"another owner":             {func(x map[string][]leasetable.Item) { x["ap"][1][leasetable.Owner] = leasetable.S("us") }, "in ap"},
		"another time":              {func(x map[string][]leasetable.Item) { x["us"][1][leasetable.AvailableMs] = leasetable.N(9) }, "in us"},
		"a holder in one region":    {func(x map[string][]leasetable.Item) { x["us"][1][leasetable.Holder] = leasetable.S("p#k") }, "in us"},
		"an attribute is missing":   {func(x map[string][]leasetable.Item) { delete(x["us"][1], leasetable.Owner) }, "in us"},
	} {
		tables := map[string][]leasetable.Item{}
		for _, region := range regions {
			tables[region] = []leasetable.Item{
				row(lease.ResourceRow("c", "r1"), leasetable.Item{leasetable.Version: leasetable.N(1), leasetable.Owner: leasetable.S("eu"), leasetable.AvailableMs: leasetable.N(1)}),
				row(lease.ResourceRow("c", "r2"), leasetable.Item{leasetable.Version: leasetable.N(3), leasetable.Owner: leasetable.S("eu"), leasetable.AvailableMs: leasetable.N(7)}),
				row(lease.ClientRow("c"), leasetable.Item{leasetable.Version: leasetable.N(1)}),
			}
		}
		c.plant(tables)
		got := strings.Join(differences(regions, tables, 2), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: it reports %q, want %q", name, got, c.want)
		}
	}
}

// TestOverlapsNotices: a resource that two keys use at one time is reported.
func TestOverlapsNotices(t *testing.T) {
	by := func(key string, from, to int64) homeUse {
		return homeUse{key, time.UnixMilli(from), time.UnixMilli(to)}
	}
	for name, c := range map[string]struct {
		uses []homeUse
		bad  bool
	}{
		"one after the other":     {[]homeUse{by("a", 0, 5), by("b", 5, 9), by("a", 9, 12)}, false},
		"one key in two regions":  {[]homeUse{by("a", 0, 5), by("a", 2, 6)}, false},
		"the second is too early": {[]homeUse{by("a", 0, 5), by("b", 4, 9)}, true},
		"at the same time":        {[]homeUse{by("a", 0, 5), by("b", 0, 5)}, true},
		"not its neighbour":       {[]homeUse{by("a", 0, 9), by("a", 1, 2), by("b", 4, 5)}, true},
	} {
		if wrong := overlaps(map[string][]homeUse{"r": c.uses, "free": {by("c", 0, 100)}}); (len(wrong) > 0) != c.bad {
			t.Errorf("%s: it reports %q", name, wrong)
		}
	}
}

// TestAdoptionNotices: a resource that is lost by an adoption, or offered too early, is reported.
func TestAdoptionNotices(t *testing.T) {
	const quarantine = 10 * time.Second
	end := time.UnixMilli(50_000)
	for name, c := range map[string]struct {
		plant func(found map[string]admin.Resource)
		want  string // empty: correct
	}{
		"correct":         {func(map[string]admin.Resource) {}, ""},
		"offered at once": {func(x map[string]admin.Resource) { change(x, func(r *admin.Resource) { r.State = admin.Available }) }, "r1 was leased until"},
		"offered too early": {func(x map[string]admin.Resource) {
			change(x, func(r *admin.Resource) { r.Until = end.Add(quarantine - 1) })
		}, "r1 was leased until"},
		"not adopted":        {func(x map[string]admin.Resource) { change(x, func(r *admin.Resource) { r.Region = "us" }) }, "r1 was leased until"},
		"adopted by another": {func(x map[string]admin.Resource) { change(x, func(r *admin.Resource) { r.Region = "eu" }) }, "r1 is"},
		"lost":               {func(x map[string]admin.Resource) { delete(x, "r1") }, "2 resources, want 3"},
		"a free one is lost": {func(x map[string]admin.Resource) { delete(x, "r2") }, "2 resources, want 3"},
		"a free one remains": {func(x map[string]admin.Resource) { x["r2"] = admin.Resource{Resource: "r2", Region: "us"} }, "r2 is"},
		"the retired one":    {func(x map[string]admin.Resource) { x["r3"] = admin.Resource{Resource: "r3", Region: "ap"} }, "r3 is"},
	} {
		found := map[string]admin.Resource{
			"r1": {Resource: "r1", Region: "ap", State: admin.Quarantine, Until: end.Add(quarantine)},
			"r2": {Resource: "r2", Region: "ap", State: admin.Quarantine, Until: end}, "r3": {Resource: "r3", Region: "us", State: admin.Retired},
		}
		c.plant(found)
		got := strings.Join(append(offeredEarly(found, map[string]time.Time{"r1": end}, quarantine), notAdopted(found, 3, "r3")...), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: it reports %q, want %q", name, got, c.want)
		}
	}
}

// change changes resource r1.
func change(found map[string]admin.Resource, f func(*admin.Resource)) {
	r := found["r1"]
	f(&r)
	found["r1"] = r
}
