package admin_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease/admin"
)

// agent returns an agent of a region.
func (w *fixture) agent(t testing.TB, region string) *agent.Agent {
	t.Helper()
	a, err := agent.New(agent.Config{Region: region, Table: table, Client: func(region string) *dynamodb.Client { return w.cloud.Region(region).Client() }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// A resource is created, leased, and can be retired only when it cannot be in use. Its tokens never
// begin again.
func TestResource(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu", "us")
	ctx := t.Context()
	r, err := w.CreateResource(ctx, "c", "p", "us", "r")
	if err != nil || r.State != admin.Available || r.Region != "us" || r.Token != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if _, err := w.CreateResource(ctx, "c", "p", "eu", "r"); !errors.Is(err, admin.ErrExists) {
		t.Errorf("again, in another region: %v", err)
	}
	w.cloud.Settle()
	a := w.agent(t, "us")
	l, err := a.GetLease(ctx, "c", "p", "k", time.Now().Add(time.Minute))
	if err != nil || l.Resource != "r" {
		t.Fatalf("%+v, %v", l, err)
	}
	if _, err := w.Retire(ctx, "c", "r", false); !errors.Is(err, admin.ErrInUse) || !strings.Contains(err.Error(), `key "k" of pool "p"`) {
		t.Errorf("retired while leased: %v", err)
	}
	if err := a.Release(ctx, l); err != nil {
		t.Fatal(err)
	}
	if r, err = w.Resource(ctx, "c", "r"); err != nil || r.State != admin.Quarantine {
		t.Errorf("after the release: %+v, %v", r, err)
	}
	if _, err := w.Retire(ctx, "c", "r", false); !errors.Is(err, admin.ErrInUse) {
		t.Errorf("retired in its quarantine: %v", err)
	}

	if _, err := w.CreateResource(ctx, "c", "p", "us", "s"); err != nil {
		t.Fatal(err)
	}
	w.cloud.Settle()
	if s, err := w.Retire(ctx, "c", "s", true); err != nil || s.State != admin.Available {
		t.Errorf("dry: %+v, %v", s, err)
	}
	s, err := w.Retire(ctx, "c", "s", false)
	if err != nil || s.State != admin.Retired || s.Token != 2 {
		t.Errorf("retired: %+v, %v", s, err)
	}
	w.cloud.Settle()
	if _, err := a.GetLease(ctx, "c", "p", "m", time.Now().Add(time.Minute)); !errors.Is(err, agent.ErrExhausted) {
		t.Errorf("all are retired or leased: %v", err)
	}
	if _, err := w.CreateResource(ctx, "c", "p", "us", "s"); !errors.Is(err, admin.ErrExists) || !strings.Contains(err.Error(), "revive it") {
		t.Errorf("a retired resource is created again: %v", err)
	}
	if s, err = w.Revive(ctx, "c", "s", false); err != nil || s.State != admin.Available || s.Token != 3 {
		t.Errorf("revived: %+v, %v", s, err)
	}
	create(t, w, admin.Pool{Client: "c", Pool: "q"})
	if s, err = w.SetPool(ctx, "c", "s", "q", false); err != nil || s.Pool != "q" || s.Token != 4 {
		t.Errorf("in another pool: %+v, %v", s, err)
	}
	w.cloud.Settle()
	if l, err := w.agent(t, "us").GetLease(ctx, "c", "q", "k", time.Now().Add(time.Minute)); err != nil || l.Resource != "s" || l.Token != 5 {
		t.Errorf("leased from that pool: %+v, %v", l, err)
	}
	if err := admin.Delete(ctx, w.Admin, admin.Pool{Client: "c", Pool: "q"}, false); !errors.Is(err, admin.ErrInUse) {
		t.Errorf("a pool with resources is deleted: %v", err)
	}
	if err := admin.Delete(ctx, w.Admin, admin.Region{Region: "us"}, false); !errors.Is(err, admin.ErrInUse) {
		t.Errorf("a region with resources is deleted: %v", err)
	}
	if _, err := w.Resource(ctx, "c", "none"); !errors.Is(err, admin.ErrNotFound) {
		t.Error(err)
	}
}

func TestResources(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu", "us")
	for i := range 30 {
		if _, err := w.CreateResource(t.Context(), "c", "p", []string{"eu", "us"}[i%2], fmt.Sprintf("r%02d", i)); err != nil {
			t.Fatal(err)
		}
	}
	w.cloud.Settle()
	if _, err := w.agent(t, "eu").GetLease(t.Context(), "c", "p", "k", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Retire(t.Context(), "c", "r01", false); err != nil {
		t.Fatal(err)
	}
	w.cloud.Settle()
	for _, c := range []struct {
		name string
		f    admin.ResourceFilter
		want int
	}{
		{"all", admin.ResourceFilter{}, 30},
		{"in use", admin.ResourceFilter{InUse: true}, 29},
		{"retired", admin.ResourceFilter{State: admin.Retired}, 1},
		{"leased", admin.ResourceFilter{State: admin.Leased}, 1},
		{"of a region", admin.ResourceFilter{Region: "us"}, 15},
		{"of another pool", admin.ResourceFilter{Pool: "q"}, 0},
		{"by name", admin.ResourceFilter{Prefix: "r1"}, 10},
		{"some", admin.ResourceFilter{Limit: 7}, 7},
		{"several things at once", admin.ResourceFilter{Region: "eu", State: admin.Available, Pool: "p"}, 14},
	} {
		var names []string
		err := w.Resources(t.Context(), "c", c.f, func(r admin.Resource) error { names = append(names, r.Resource); return nil })
		slices.Sort(names)
		if err != nil || len(names) != c.want || len(slices.Compact(names)) != c.want {
			t.Errorf("%s: %d, %v, want %d: %v", c.name, len(names), err, c.want, names)
		}
	}
	stop := errors.New("stop")
	if err := w.Resources(t.Context(), "c", admin.ResourceFilter{}, func(admin.Resource) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v, want %v", err, stop)
	}
}

// The leases of a key are shown by region, with their history.
func TestLeaseHistory(t *testing.T) {
	w := newFixture(t, dynamotest.Friendly(), "eu", "us")
	ctx := t.Context()
	if _, err := w.CreateResource(ctx, "c", "p", "us", "r"); err != nil {
		t.Fatal(err)
	}
	w.cloud.Settle()
	a := w.agent(t, "us")
	l, err := a.GetLease(ctx, "c", "p", "k#1", time.Now().Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	a = w.agent(t, "us") // whose first call settles the lease
	if l, err = a.GetLease(ctx, "c", "p", "k#1", time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	shown, err := w.Lease(ctx, "c", "p", "k#1")
	if err != nil || len(shown) != 1 || shown[0].Resource != "r" || shown[0].Token != l.Token || shown[0].State != "leased" || !strings.HasPrefix(shown[0].Consistency, "yes") {
		t.Fatalf("%+v, %v", shown, err)
	}
	if l, err = a.Renew(ctx, l, time.Now().Add(2*time.Minute)); err != nil {
		t.Fatal(err)
	}
	if err = a.Release(ctx, l); err != nil {
		t.Fatal(err)
	}
	w.cloud.Settle()
	for _, c := range []struct {
		key, resource string
		want          []string
	}{
		{"k#1", "", []string{"wants r", "has r", "has r", "released r"}},
		{"", "r", []string{"registered", "leased to key k#1 of pool p", "renewed", "released"}},
	} {
		var events []admin.HistoryEvent
		for until := time.Now().Add(5 * time.Second); len(events) < len(c.want) && time.Now().Before(until) && err == nil; { // streams lag
			events, err = w.History(ctx, "c", "p", c.key, c.resource)
		}
		if err != nil || len(events) != len(c.want) {
			t.Fatalf("%+v, %v", events, err)
		}
		for i, e := range events {
			if !strings.HasPrefix(e.Description, c.want[i]) || e.Region == "us" == (e.Description == "registered") {
				t.Errorf("%s: %+v, want %s", c.key+c.resource, e, c.want[i])
			}
		}
	}
	if none, err := w.Lease(ctx, "c", "p", "other"); err != nil || len(none) != 0 {
		t.Errorf("a key without a lease: %+v, %v", none, err)
	}
}
