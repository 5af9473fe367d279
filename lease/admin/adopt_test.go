package admin_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
	leasetable "github.com/weirhq/weir/lease/table"
)

// A region is cut off with leases, some of which no other region has seen. Its resources are
// adopted only after its agents have stopped, no resource is offered while it may be in use, and
// writes of the lost region have no effect when it is back.
func TestAdopt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const writeLeaseTerm, longest, quarantine = 2 * time.Minute, 20 * time.Minute, 10 * time.Second
		w := newFixture(t, dynamotest.Profile{ReplicationLag: dynamotest.Span{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}}, "eu", "us", "ap")
		ctx := t.Context()
		us := update(t, w, admin.Region{Region: "us"}, func(r *admin.Region) { r.WriteLease = admin.Duration(writeLeaseTerm) })
		update(t, w, admin.Pool{Client: "c", Pool: "p"}, func(p *admin.Pool) {
			p.LongestLease, p.Quarantine = admin.Duration(longest), admin.Duration(quarantine)
		})
		var names strings.Builder
		for i := range 40 {
			fmt.Fprintf(&names, "r%02d\n", i)
		}
		if _, err := w.ImportResources(ctx, strings.NewReader(names.String()), admin.ResourceImport{Client: "c", Pool: "p", Region: "us"}); err != nil {
			t.Fatal(err)
		}
		refused := func(want string) {
			t.Helper()
			if _, err := w.Adopt(ctx, admin.Adoption{Region: "us", By: "ap"}); !errors.Is(err, admin.ErrNoFence) || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
		refused("no grantor has renewed")
		if err := w.renewWriteLeases(ctx); err != nil {
			t.Fatal(err)
		}
		wait(t, time.Second)
		refused("has sent no heartbeat")
		writeHeartbeat(t, w, us.Updated.Add(-time.Second))
		refused("has sent no heartbeat")
		writeHeartbeat(t, w, us.Updated)
		if _, err := w.Retire(ctx, "c", "r39", false); err != nil {
			t.Fatal(err)
		}
		a, err := agent.New(agent.Config{
			Region: "us", Table: table, Client: func(region string) *dynamodb.Client { return w.cloud.Region(region).Client() }, SettingsTTL: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		used := map[string]time.Time{} // until when a resource may be in use
		get := func(key string) error {
			l, err := a.GetLease(ctx, "c", "p", key, time.Now().Add(time.Hour))
			if err == nil && l.Expires.After(used[l.Resource]) {
				used[l.Resource] = l.Expires
			}
			return err
		}
		for i := range 10 {
			if err := get(fmt.Sprint("seen", i)); err != nil {
				t.Fatal(err)
			}
		}
		adoption := admin.Adoption{Region: "us", By: "ap"}
		for range 2 { // a plan ends no renewal
			if err := w.renewWriteLeases(ctx); err != nil {
				t.Fatal(err)
			}
			plan, err := w.PlanAdoption(ctx, adoption)
			if err != nil || plan.Fenced || plan.Until.Before(time.Now().Add(time.Duration(us.WriteLease)-5*time.Second)) || len(plan.Pools) != 1 {
				t.Fatalf("%+v, %v, want the end of the present write lease and one pool", plan, err)
			}
			if rest := plan.Pools[0].Offered.Sub(plan.Until); rest < time.Hour || rest > time.Hour+quarantine {
				t.Errorf("offered %v after the last write, want the longest lease and the quarantine", rest)
			}
			wait(t, 10*time.Second)
		}
		for _, c := range []struct {
			o    admin.Adoption
			want string
		}{
			{admin.Adoption{Region: "us", By: "us"}, "its own"},
			{admin.Adoption{Region: "us", By: "mars"}, "not found"},
			{admin.Adoption{Region: "eu", By: "us"}, "make another region the home"},
			{admin.Adoption{Region: "ap", By: "us"}, "no write lease"},
			{admin.Adoption{Region: "ap", By: "us", DeadSince: time.Now().Add(time.Hour)}, "future"},
		} {
			if _, err := w.Adopt(ctx, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v: %v, want %q", c.o, err, c.want)
			}
			if _, err := w.PlanAdoption(ctx, c.o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("plan of %+v: %v, want %q", c.o, err, c.want)
			}
		}
		wait(t, time.Second)
		for _, other := range []string{"eu", "ap"} { // cut the region off
			for _, way := range [][2]string{{"us", other}, {other, "us"}} {
				if err := w.cloud.Cut(way[0], way[1], true); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.renewWriteLeases(ctx); err != nil { // not received by the region
			t.Fatal(err)
		}
		update(t, w, admin.Pool{Client: "c", Pool: "p"}, func(p *admin.Pool) { p.LongestLease = admin.Duration(time.Minute) }) // not received either
		if err := get("unseen"); err != nil {
			t.Fatal(err)
		}
		var early *admin.EarlyError
		if _, err := w.Adopt(ctx, adoption); !errors.As(err, &early) {
			t.Fatalf("%v, want an %T", err, early)
		}
		// From now on no grantor renews its write lease. It leases until the end.
		for i := 0; time.Now().Before(early.Until); i++ {
			if err := w.renewWriteLeases(ctx); err != nil {
				t.Fatal(err)
			}
			if err := get(fmt.Sprint("alone", i)); err != nil && !errors.Is(err, agent.ErrNoWriteLease) {
				t.Fatal(err)
			}
			wait(t, 5*time.Second)
		}
		if err := get("late"); !errors.Is(err, agent.ErrNoWriteLease) {
			t.Errorf("a lease after the end of the write lease: %v, want %v", err, agent.ErrNoWriteLease)
		}
		wait(t, time.Second)
		done, err := w.Adopt(ctx, adoption)
		if err != nil || done.Adopted != 39 || done.Remaining != 1 {
			t.Fatalf("%+v, %v, want 39 adopted and the retired one left", done, err)
		}
		if len(done.Pools) != 1 || done.Pools[0] != (admin.AdoptedPool{Client: "c", Pool: "p", Adopted: 39, Offered: done.Offered}) {
			t.Errorf("the pools are %+v", done.Pools)
		}
		again, err := w.Adopt(ctx, adoption)
		if err != nil || again.Adopted != 0 || again.AlreadyAdopted != 39 || again.Remaining != 1 {
			t.Errorf("repeated: %+v, %v", again, err)
		}
		wait(t, time.Second)
		if len(used) < 12 {
			t.Errorf("%d resources were leased", len(used))
		}
		for _, wrong := range offeredEarly(w.all(t), used, quarantine) {
			t.Error(wrong)
		}
		// It is back, with writes of the time when it was cut off: they have no effect.
		for _, other := range []string{"eu", "ap"} {
			for _, way := range [][2]string{{"us", other}, {other, "us"}} {
				if err := w.cloud.Cut(way[0], way[1], false); err != nil {
					t.Fatal(err)
				}
			}
		}
		wait(t, 5*time.Second)
		for _, wrong := range notAdopted(w.all(t), 40, "r39") {
			t.Errorf("after it is back: %s", wrong)
		}
		if err := get("late"); !errors.Is(err, agent.ErrAdopted) {
			t.Errorf("a lease in the adopted region, which has no resource: %v, want %v", err, agent.ErrAdopted)
		}
		wait(t, time.Hour+time.Minute) // the pool's longest lease ever
		if last, err := w.Adopt(ctx, adoption); err != nil || last.Adopted != 1 || last.Remaining != 0 {
			t.Errorf("the retired resource: %+v, %v", last, err)
		}
		wait(t, time.Second)
		if r := look(t, w, "r39"); r.Region != "ap" || r.State != admin.Retired {
			t.Errorf("%+v, want it retired in ap", r)
		}
		if _, err := w.CreateResource(ctx, "c", "p", "us", "late"); err != nil {
			t.Fatal(err)
		}
		wait(t, time.Second)
		if _, err := w.Retire(ctx, "c", "late", false); !errors.Is(err, agent.ErrNoWriteLease) {
			t.Errorf("retired in the adopted region: %v, want %v", err, agent.ErrNoWriteLease)
		}
		if r, err := w.Readmit(ctx, "us"); err != nil || r.State != "active" || r.WriteLease != us.WriteLease {
			t.Errorf("readmitted: %+v, %v", r, err)
		}
		if err := w.renewWriteLeases(ctx); err != nil {
			t.Fatal(err)
		}
		wait(t, 5*time.Second)
		_ = get("back")
		wait(t, time.Second)
		if err := get("back"); err != nil {
			t.Errorf("a lease in the readmitted region: %v", err)
		}
	})
}

// all returns the resources by name. A name with two rows fails the test.
func (w *fixture) all(t *testing.T) map[string]admin.Resource {
	t.Helper()
	found := map[string]admin.Resource{}
	err := w.Resources(t.Context(), "c", admin.ResourceFilter{}, func(r admin.Resource) error {
		if _, twice := found[r.Resource]; twice {
			return fmt.Errorf("%s has two rows", r.Resource)
		}
		found[r.Resource] = r
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// offeredEarly returns the resources that ap has not adopted, or can lease while their last user
// may use them. used has the end of the last lease by resource.
func offeredEarly(found map[string]admin.Resource, used map[string]time.Time, quarantine time.Duration) (wrong []string) {
	for resource, end := range used {
		if r := found[resource]; r.Region != "ap" || r.State != admin.Quarantine || r.Until.Before(end.Add(quarantine)) {
			wrong = append(wrong, fmt.Sprintf("%s was leased until %s and is now %+v", resource, end, r))
		}
	}
	return wrong
}

// notAdopted returns the resources that ap does not own, except for one, which it must not own.
func notAdopted(found map[string]admin.Resource, count int, except string) (wrong []string) {
	if len(found) != count {
		wrong = append(wrong, fmt.Sprintf("%d resources, want %d", len(found), count))
	}
	for name, r := range found {
		if (r.Region == "ap") == (name == except) {
			wrong = append(wrong, fmt.Sprintf("%s is %+v", name, r))
		}
	}
	return wrong
}

// wait lets virtual time pass, and waits for goroutines.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
	synctest.Wait()
}

func look(t *testing.T, w *fixture, resource string) (found admin.Resource) {
	t.Helper()
	err := w.Resources(t.Context(), "c", admin.ResourceFilter{Prefix: resource}, func(r admin.Resource) error {
		found = r
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func update[T any, P admin.Entity[T]](t *testing.T, w *fixture, v T, change func(P)) T {
	t.Helper()
	v, err := admin.Get[T, P](t.Context(), w.Admin, v)
	if err != nil {
		t.Fatal(err)
	}
	change(&v)
	if v, err = admin.Update[T, P](t.Context(), w.Admin, v); err != nil {
		t.Fatal(err)
	}
	return v
}

// writeHeartbeat writes a heartbeat of region us, with the settings that it has seen.
func writeHeartbeat(t *testing.T, w *fixture, seen time.Time) {
	t.Helper()
	item := leasetable.PrimaryKey(lease.HeartbeatRow("us"))
	item[leasetable.HeartbeatMs], item[leasetable.SettingsSeenMs] = leasetable.N(time.Now().UnixMilli()), leasetable.N(seen.UnixMilli())
	if _, err := w.cloud.Region("us").Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
		t.Fatal(err)
	}
	wait(t, time.Second)
}

// A region that is cut off for longer than its own write lease adopts nothing, because another
// region may be about to adopt it.
func TestAdoptByLostRegion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threeRegions(t)
		w.pass(t, 20*time.Second)
		since := time.Now()
		w.alone(t, "us", true)
		w.alone(t, "ap", true)
		w.pass(t, 10*time.Minute, "us")
		adoption := admin.Adoption{Region: "us", By: "ap", DeadSince: since}
		if _, err := w.Adopt(t.Context(), adoption); !errors.Is(err, admin.ErrEarly) { // earlier renewals by the others
			t.Fatal(err)
		}
		w.pass(t, 3*time.Minute, "us")
		if done, err := w.Adopt(t.Context(), adoption); !errors.Is(err, agent.ErrNoWriteLease) || done.Adopted > 0 {
			t.Errorf("by a region without a current write lease: %+v, %v", done, err)
		}
		w.alone(t, "ap", false)
		w.pass(t, 20*time.Second, "us")
		if done, err := w.Adopt(t.Context(), adoption); err != nil || done.Adopted != 10 {
			t.Errorf("with a current write lease: %+v, %v", done, err)
		}
	})
}
