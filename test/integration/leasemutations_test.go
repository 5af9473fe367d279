package integration

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/lease/table"
)

// TestLedgerNotices: the recount reports each fault of the totals, and nothing in correct ones.
func TestLedgerNotices(t *testing.T) {
	view, click := eventspb.EventType_EVENT_TYPE_IMPRESSION, eventspb.EventType_EVENT_TYPE_CLICK
	event := func(campaign, id string, typ eventspb.EventType, micros int64) *eventspb.AdEvent {
		return &eventspb.AdEvent{Account: "a", Campaign: campaign, EventId: id, Type: typ, PriceMicros: micros, Currency: "USD", BudgetDay: 20260501}
	}
	at := func(campaign string) place { return place{campaign, "a", "20260501", "USD"} }
	for name, c := range map[string]struct {
		plant func(got map[place]*account)
		want  string // empty: correct totals
	}{
		"correct":                     {func(map[place]*account) {}, ""},
		"a row is lost":               {func(got map[place]*account) { delete(got, at("two")) }, "missing, want 7 micros"},
		"an event is lost":            {func(got map[place]*account) { got[at("one")].micros -= 3 }, "want 8 micros"},
		"an event is charged twice":   {func(got map[place]*account) { got[at("one")].micros += 3 }, "want 8 micros"},
		"an event is counted twice":   {func(got map[place]*account) { got[at("one")].byType[view]++ }, "want 8 micros"},
		"an event has another type":   {func(got map[place]*account) { got[at("one")].byType = map[eventspb.EventType]uint64{view: 2} }, "want 8 micros"},
		"a duplicate is lost":         {func(got map[place]*account) { got[at("one")].duplicates = 0 }, "want 8 micros"},
		"a duplicate is another's":    {func(got map[place]*account) { got[at("two")].duplicates++ }, "want 7 micros"},
		"a row without events":        {func(got map[place]*account) { got[at("three")] = &account{} }, "nothing was produced for it"},
		"a row of another day":        {func(got map[place]*account) { move(got, at("two"), place{"two", "a", "20260502", "USD"}) }, "nothing was produced for it"},
		"a row of another account":    {func(got map[place]*account) { move(got, at("two"), place{"two", "b", "20260501", "USD"}) }, "nothing was produced for it"},
		"a row of another currency":   {func(got map[place]*account) { move(got, at("two"), place{"two", "a", "20260501", "EUR"}) }, "nothing was produced for it"},
		"a row of another campaign":   {func(got map[place]*account) { move(got, at("two"), at("three")) }, "nothing was produced for it"},
		"two campaigns are exchanged": {func(got map[place]*account) { got[at("one")], got[at("two")] = got[at("two")], got[at("one")] }, "want 7 micros"},
	} {
		l, got := newLedger(), newLedger()
		for _, e := range []*eventspb.AdEvent{
			event("one", "1", view, 3), event("one", "2", click, 5), event("one", "1", view, 3), event("two", "3", view, 7),
		} {
			l.add(e)
			got.add(e)
		}
		c.plant(got.totals)
		report := strings.Join(l.differences(got.totals), "\n")
		if c.want == "" && report != "" || !strings.Contains(report, c.want) {
			t.Errorf("%s: it reports %q, want %q", name, report, c.want)
		}
	}
}

// move changes the key of a row.
func move(got map[place]*account, from, to place) {
	got[to] = got[from]
	delete(got, from)
}

// TestOverlapsNotices: a resource that two keys use at one time is reported.
func TestOverlapsNotices(t *testing.T) {
	begin := time.Now()
	by := func(key, region string, from, until int) use {
		return use{key, region, begin.Add(time.Duration(from) * time.Second), begin.Add(time.Duration(until) * time.Second)}
	}
	for name, c := range map[string]struct {
		uses []use
		bad  bool
	}{
		"one after the other":              {[]use{by("a", "eu", 0, 5), by("b", "us", 5, 9)}, false},
		"a key renews its lease":           {[]use{by("a", "eu", 0, 5), by("a", "eu", 3, 9), by("b", "eu", 9, 10)}, false},
		"a key is known in two regions":    {[]use{by("a", "eu", 0, 5), by("a", "us", 3, 5)}, false},
		"the second begins too early":      {[]use{by("a", "eu", 0, 5), by("b", "us", 4, 9)}, true},
		"in one region":                    {[]use{by("a", "eu", 0, 5), by("b", "eu", 4, 9)}, true},
		"at the same time":                 {[]use{by("a", "eu", 0, 5), by("b", "us", 0, 5)}, true},
		"within a longer use":              {[]use{by("a", "eu", 0, 9), by("b", "us", 4, 5)}, true},
		"after a short use, within a long": {[]use{by("a", "eu", 0, 9), by("a", "eu", 1, 2), by("b", "us", 4, 5)}, true},
		"recorded later":                   {[]use{by("b", "us", 4, 9), by("a", "eu", 0, 5)}, true},
		"renewed over the next use":        {[]use{by("a", "eu", 0, 4), by("a", "eu", 3, 6), by("b", "us", 5, 8)}, true},
	} {
		u := &leaseUsers{uses: map[string][]use{"r": c.uses, "free": {by("c", "eu", 0, 100)}}}
		if wrong := u.overlaps(); (len(wrong) > 0) != c.bad {
			t.Errorf("%s: it reports %q", name, wrong)
		}
	}
}

// resourceChange returns a change of resource r, as a stream has it.
func resourceChange(region string, version int64, scanned bool) *eventspb.LeaseChange {
	return &eventspb.LeaseChange{Client: leaseClient, Pool: widePool, Region: region, Scanned: scanned, Row: &eventspb.LeaseChange_Resource{
		Resource: &eventspb.LeaseResource{Resource: "r", Version: version, Owner: "eu", AvailableMs: 1},
	}}
}

// TestLeaseLogNotices: a change that is missing, comes twice or too late is reported, and so is a
// region whose stream is not read.
func TestLeaseLogNotices(t *testing.T) {
	type change struct {
		region  string
		version int64
		scanned bool
	}
	for name, c := range map[string]struct {
		changes []change
		want    string // empty: a correct log
	}{
		"correct":                        {[]change{{"eu", 1, false}, {"us", 2, false}, {"eu", 3, false}}, ""},
		"regions in another order":       {[]change{{"us", 2, false}, {"eu", 1, false}, {"eu", 3, false}}, ""},
		"a scan repeats a row":           {[]change{{"eu", 1, false}, {"us", 2, false}, {"eu", 2, true}, {"eu", 3, false}}, ""},
		"a change comes twice":           {[]change{{"eu", 1, false}, {"us", 2, false}, {"us", 2, false}}, "version 2 of"},
		"from another region again":      {[]change{{"eu", 1, false}, {"us", 2, false}, {"eu", 2, false}}, "comes twice, now from eu"},
		"a region's changes are swapped": {[]change{{"us", 2, false}, {"eu", 3, false}, {"eu", 1, false}}, "comes after 3, from eu"},
		"the first change is missing":    {[]change{{"us", 2, false}, {"eu", 3, false}}, "version 1 of"},
		"a change is missing":            {[]change{{"eu", 1, false}, {"us", 3, false}}, "version 2 of"},
		"only a scan has a change":       {[]change{{"eu", 1, false}, {"us", 2, false}, {"eu", 3, true}}, "version 3 of"},
		"a region is not heard":          {[]change{{"eu", 1, false}, {"eu", 2, false}}, "no change from us"},
		"only scans of a region":         {[]change{{"eu", 1, false}, {"us", 1, true}}, "no change from us"},
	} {
		l := &leaseLog{rows: map[rowName]*rowLog{}}
		for _, x := range c.changes {
			m := resourceChange(x.region, x.version, x.scanned)
			p, version, _ := nameOf(m)
			l.add(rowName{p, 0}, version, m)
		}
		report := slices.Concat(l.wrong, l.gaps())
		if err := l.heard([]string{"eu", "us"}); err != nil {
			report = append(report, err.Error())
		}
		if len(report) > 1 || (len(report) == 0) != (c.want == "") || !strings.Contains(strings.Join(report, ""), c.want) {
			t.Errorf("%s: it reports %q, want %q", name, report, c.want)
		}
	}
}

// newLeaseTable returns the part of a leaseCluster that needs no broker, with one resource in each
// region, and the log of its changes.
func newLeaseTable(t *testing.T) (*leaseCluster, *leaseLog) {
	t.Helper()
	w := &leaseCluster{cluster: &cluster{t: t}, regions: []string{"eu", "us"}, stock: map[string]string{}}
	var err error
	if w.cloud, err = dynamotest.New(dynamotest.Config{Regions: w.regions}); err != nil {
		t.Fatal(err)
	}
	w.connect(w.serve())
	errs := []error{w.admin.Apply(t.Context(), nil)}
	made := func(_ any, err error) { errs = append(errs, err) }
	for _, r := range w.regions {
		made(admin.Create(t.Context(), w.admin, admin.Region{Region: r}))
	}
	made(admin.Create(t.Context(), w.admin, admin.Client{Client: leaseClient}))
	made(admin.Create(t.Context(), w.admin, admin.Pool{Client: leaseClient, Pool: widePool}))
	for _, r := range w.regions {
		errs = append(errs, w.put(widePool, r, 1))
	}
	if err := errors.Join(append(errs, w.cloud.Settle())...); err != nil {
		t.Fatal(err)
	}
	l := &leaseLog{rows: map[rowName]*rowLog{}}
	items, err := w.leases(t.Context(), "eu")
	if err != nil {
		t.Fatal(err)
	}
	for p, item := range items {
		row, err := table.Row(item)
		if err != nil {
			t.Fatal(err)
		}
		l.add(rowName{p, 0}, row.Version, &eventspb.LeaseChange{Client: leaseClient, Pool: w.stock[p.Sort], Region: "eu", Row: &eventspb.LeaseChange_Resource{
			Resource: &eventspb.LeaseResource{Resource: p.Sort, Version: row.Version, Owner: row.Owner, Holder: row.Holder, ExpiresMs: row.Expires, AvailableMs: row.Available},
		}})
	}
	return w, l
}

// lose writes attributes of a row in one region, and no other region receives the write.
func (w *leaseCluster) lose(region string, p lease.PrimaryKey, attributes table.Item) {
	w.t.Helper()
	ctx := context.WithoutCancel(w.t.Context())
	for _, r := range w.regions {
		if r != region {
			if err := w.cloud.Cut(region, r, true); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	items, err := w.leases(ctx, region)
	if err != nil {
		w.t.Fatal(err)
	}
	item := table.PrimaryKey(p)
	maps.Copy(item, items[p])
	maps.Copy(item, attributes)
	if _, err := w.table.New(region).PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(leaseTable), Item: item}); err != nil {
		w.t.Fatal(err)
	}
}

// TestLeaseTableNotices: a region that differs from the log is reported, and so is a resource that
// is lost, unknown or not available.
func TestLeaseTableNotices(t *testing.T) {
	const name = widePool + "-eu-00"
	resource := lease.ResourceRow(leaseClient, name)
	key := lease.PrimaryKey{Partition: lease.KeyPartition(leaseClient, widePool, "k"), Sort: "us"}
	for what, c := range map[string]struct {
		plant func(w *leaseCluster, l *leaseLog)
		want  string // empty: correct
	}{
		"correct":                     {func(*leaseCluster, *leaseLog) {}, ""},
		"the log lacks a resource":    {func(_ *leaseCluster, l *leaseLog) { delete(l.rows, rowName{resource, 0}) }, "the log has no resource " + name},
		"the log has another version": {func(_ *leaseCluster, l *leaseLog) { l.rows[rowName{resource, 0}].newest.GetResource().Version++ }, "row {R#client#"},
		"the regions lack a key":      {func(_ *leaseCluster, l *leaseLog) { l.add(rowName{key, 0}, 1, keyChange(key, 1)) }, "row {K#client#wide#k us} in eu: it is"},
		"the log lacks a key":         {func(w *leaseCluster, _ *leaseLog) { w.lose("us", key, leased(-time.Minute)) }, "the log has no row {K#client#wide#k us}, which us has"},
		"a region has another owner":  {func(w *leaseCluster, _ *leaseLog) { w.lose("us", resource, table.Item{table.Owner: table.S("us")}) }, "in us: it is"},
		"a region has another time":   {func(w *leaseCluster, _ *leaseLog) { w.lose("us", resource, table.Item{table.AvailableMs: table.N(7)}) }, "in us: it is"},
		"a region has a holder":       {func(w *leaseCluster, _ *leaseLog) { w.lose("us", resource, table.Item{table.Holder: table.S("h")}) }, "in us: it is"},
		"a resource is unknown":       {func(w *leaseCluster, _ *leaseLog) { delete(w.stock, name) }, "is unknown or exists twice"},
		"a resource is lost":          {func(w *leaseCluster, _ *leaseLog) { w.stock["lost"] = widePool }, "the log has no resource lost\n2 resources of 3"},
		"a resource of another pool":  {func(w *leaseCluster, _ *leaseLog) { w.stock[name] = scarcePool }, "is unknown or exists twice"},
		"a resource is not available": {func(w *leaseCluster, _ *leaseLog) { w.lose("eu", resource, notAvailable()) }, "is quarantine until"},
	} {
		t.Run(what, func(t *testing.T) {
			w, l := newLeaseTable(t)
			c.plant(w, l)
			var report []string
			for _, err := range []error{w.agree(t.Context(), l), w.available(t.Context())} {
				if err != nil {
					report = append(report, err.Error())
				}
			}
			if got := strings.Join(report, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("it reports %q, want %q", got, c.want)
			}
		})
	}
}

// TestSingleNotices: a key with leases in two regions is reported.
func TestSingleNotices(t *testing.T) {
	w, _ := newLeaseTable(t)
	for _, c := range []struct {
		region string
		left   time.Duration // of the lease that the region writes
		live   int
		wrong  bool
	}{{"eu", -time.Minute, 0, false}, {"eu", time.Minute, 1, false}, {"us", -time.Minute, 1, false}, {"us", time.Minute, 0, true}} {
		w.lose(c.region, lease.PrimaryKey{Partition: lease.KeyPartition(leaseClient, widePool, "k"), Sort: c.region}, leased(c.left))
		if live, err := w.single(t.Context(), []twin{{pool: widePool, key: "k"}}); live != c.live || (err != nil) != c.wrong {
			t.Errorf("after %+v: %d live leases, %v", c, live, err)
		}
	}
}

// leased returns the attributes of a key's row whose lease ends after a time.
func leased(left time.Duration) table.Item {
	return table.Item{
		table.Version: table.N(1), table.State: table.S(string(lease.Leased)), table.Resource: table.S("r"), table.ResourceVersion: table.N(2),
		table.ExpiresMs: table.N(time.Now().Add(left).UnixMilli()),
	}
}

// notAvailable returns what makes a resource available in an hour only.
func notAvailable() table.Item {
	return table.Item{table.AvailableMs: table.N(time.Now().Add(time.Hour).UnixMilli())}
}

// keyChange returns a change of a key.
func keyChange(p lease.PrimaryKey, version int64) *eventspb.LeaseChange {
	client, pool, key, _ := lease.ParseKeyPartition(p.Partition)
	return &eventspb.LeaseChange{Client: client, Pool: pool, Region: p.Sort, Row: &eventspb.LeaseChange_Key{
		Key: &eventspb.LeaseKey{Key: key, Region: p.Sort, Version: version, State: string(lease.Leased)},
	}}
}
