package admin_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/aws/smithy-go/middleware"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
	leasetable "github.com/weirhq/weir/lease/table"
)

func threeRegions(t *testing.T) *fixture {
	t.Helper()
	return leasedRegions(t, "eu", "us", "ap")
}

// leasedRegions returns a fixture whose regions have a write lease and ten resources each. The
// first region is the home.
func leasedRegions(t *testing.T, regions ...string) *fixture {
	t.Helper()
	w := newFixture(t, dynamotest.Profile{ReplicationLag: dynamotest.Span{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}}, regions...)
	update(t, w, admin.Pool{Client: "c", Pool: "p"}, func(p *admin.Pool) { p.LongestLease = admin.Duration(5 * time.Minute) })
	for _, region := range w.regions {
		update(t, w, admin.Region{Region: region}, func(r *admin.Region) { r.WriteLease = admin.Duration(2 * time.Minute) })
		var names strings.Builder
		for i := range 10 {
			fmt.Fprintf(&names, "%s%d\n", region, i)
		}
		if _, err := w.ImportResources(t.Context(), strings.NewReader(names.String()), admin.ResourceImport{Client: "c", Pool: "p", Region: region}); err != nil {
			t.Fatal(err)
		}
	}
	wait(t, time.Second)
	return w
}

// alone cuts a region off from all others, or ends that.
func (w *fixture) alone(t *testing.T, region string, cut bool) {
	t.Helper()
	for _, other := range w.regions {
		if other == region {
			continue
		}
		for _, way := range [][2]string{{region, other}, {other, region}} {
			if err := w.cloud.Cut(way[0], way[1], cut); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// pass lets time pass, in which all grantors but some renew write leases every ten seconds.
func (w *fixture) pass(t *testing.T, d time.Duration, but ...string) {
	t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); wait(t, 10*time.Second) {
		if err := w.renewWriteLeases(t.Context(), but...); err != nil {
			t.Fatal(err)
		}
	}
}

// homeUser leases resources and records who used which resource until when.
type homeUser struct {
	t      *testing.T
	agents map[string]*agent.Agent
	used   map[string][]homeUse
	n      int
}

type homeUse struct {
	key      string
	from, to time.Time
}

func (w *fixture) users(t *testing.T) *homeUser {
	t.Helper()
	u := &homeUser{t: t, agents: map[string]*agent.Agent{}, used: map[string][]homeUse{}}
	for _, region := range w.regions {
		a, err := agent.New(agent.Config{
			Region: region, Table: table, Client: func(region string) *dynamodb.Client { return w.cloud.Region(region).Client() }, SettingsTTL: time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(a.Close)
		u.agents[region] = a
	}
	return u
}

// get leases a resource for a new key. The first call after a pause may use old settings.
func (u *homeUser) get(region string) error {
	u.t.Helper()
	u.n++
	key := fmt.Sprint("k", u.n)
	var err error
	for range 2 {
		var l agent.Lease
		if l, err = u.agents[region].GetLease(u.t.Context(), "c", "p", key, time.Now().Add(3*time.Minute)); err == nil {
			u.used[l.Resource] = append(u.used[l.Resource], homeUse{key, time.Now(), l.Deadline})
			return nil
		}
		wait(u.t, time.Second)
	}
	return err
}

// apart reports resources that two keys used at the same time.
func (u *homeUser) apart() {
	u.t.Helper()
	for _, wrong := range overlaps(u.used) {
		u.t.Error(wrong)
	}
}

// overlaps returns the uses of one resource by two keys at one time. The uses of a resource are in
// the order of their begin.
func overlaps(used map[string][]homeUse) (wrong []string) {
	for resource, list := range used {
		for i, a := range list {
			for _, b := range list[i+1:] {
				if a.key != b.key && b.from.Before(a.to) {
					wrong = append(wrong, fmt.Sprintf("%s: %+v and %+v", resource, a, b))
				}
			}
		}
	}
	return wrong
}

// Each region is cut off for longer than its write lease. It stops, unless it is the home region,
// and no other region stops.
func TestCutRegions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threeRegions(t)
		u := w.users(t)
		w.pass(t, 20*time.Second)
		for _, lost := range w.regions {
			w.alone(t, lost, true)
			w.pass(t, 3*time.Minute)
			for _, region := range w.regions {
				err := u.get(region)
				if stops := region == lost && region != "eu"; stops != errors.Is(err, agent.ErrNoWriteLease) || !stops && err != nil {
					t.Errorf("%s while %s is cut off: %v", region, lost, err)
				}
			}
			w.alone(t, lost, false)
			w.pass(t, 20*time.Second)
			if err := u.get(lost); err != nil {
				t.Errorf("%s after it is back: %v", lost, err)
			}
		}
		u.apart()
	})
}

// The home region is lost for longer than its write lease. The other regions continue to lease, and
// another region becomes the home and adopts its resources. When the lost region is back, and does
// not hear the others yet, nothing is written through it, by agents or by administrators who still
// take it for the home.
func TestHomeLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threeRegions(t)
		ctx, u := t.Context(), w.users(t)
		w.pass(t, 20*time.Second)
		for _, region := range w.regions {
			heartbeatOf(t, w, region)
			for range 3 {
				if err := u.get(region); err != nil {
					t.Fatal(err)
				}
			}
		}
		wait(t, time.Second)
		dead := time.Now()
		w.alone(t, "eu", true)
		if err := w.cloud.SetFaults(dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1, Region: "eu"}); err != nil {
			t.Fatal(err)
		}
		w.pass(t, 3*time.Minute, "eu")
		for _, region := range []string{"us", "ap"} {
			if err := u.get(region); err != nil {
				t.Errorf("%s without the home: %v", region, err)
			}
		}
		if all, at, err := w.Regions(ctx); err != nil || at == "eu" || len(all) != 3 || all[1].Region != "eu" || !strings.Contains(all[1].Problem, "does not answer") ||
			all[1].WriteLeaseUntil.Before(dead) || all[0].WriteLeaseUntil.Before(time.Now()) {
			t.Errorf("%+v as %s has it, %v", all, at, err)
		}
		if list, err := w.Lease(ctx, "c", "p", "k1"); err != nil || len(list) != 1 || list[0].Resource == "" || !strings.Contains(list[0].Problem, "does not answer") {
			t.Errorf("%+v, %v", list, err)
		}
		if _, err := w.Adopt(ctx, admin.Adoption{Region: "ap", By: "us"}); !errors.Is(err, agent.ErrUnavailable) {
			t.Errorf("adopted while the settings cannot be read: %v", err)
		}
		if _, err := w.MoveHome(ctx, admin.HomeMove{To: "us"}); !errors.Is(err, admin.ErrNoFence) || !errors.Is(err, agent.ErrUnavailable) {
			t.Errorf("moved from a region that does not answer: %v", err)
		}
		if _, err := w.MoveHome(ctx, admin.HomeMove{To: "us", DeadSince: time.Now().Add(-time.Minute)}); !errors.Is(err, admin.ErrEarly) {
			t.Errorf("moved while the home region's own write lease is current: %v", err)
		}
		h, err := w.MoveHome(ctx, admin.HomeMove{To: "us", DeadSince: dead})
		if err != nil || h.Home != "us" || h.From != "eu" || h.Moving || h.Agrees || len(h.Problems) != 1 {
			t.Fatalf("%+v, %v", h, err)
		}
		us := w.adminAt(t, "us")
		adoption := admin.Adoption{Region: "eu", By: "us"}
		adoption.DeadSince = dead
		var early *admin.EarlyError
		if _, err := us.Adopt(ctx, adoption); !errors.As(err, &early) || time.Until(early.Until) < time.Minute {
			t.Fatalf("adopted at once, though it may still receive renewals: %v", err)
		}
		w.pass(t, time.Until(early.Until), "eu")
		wait(t, time.Second)
		if done, err := us.Adopt(ctx, adoption); err != nil || done.Adopted != 10 {
			t.Fatalf("%+v, %v", done, err)
		}
		if _, err := us.CreateResource(ctx, "c", "p", "us", "new"); err != nil {
			t.Error(err)
		}
		// ap is cut off as well. It stops only when no grantor renews its write lease.
		if _, err := us.Adopt(ctx, admin.Adoption{Region: "ap", By: "us"}); !errors.Is(err, admin.ErrNoFence) || !strings.Contains(err.Error(), "eu is a grantor of") {
			t.Errorf("adopted, though a grantor does not answer: %v", err)
		}

		// The former home is back, and does not hear the others.
		if err := w.cloud.SetFaults(); err != nil {
			t.Fatal(err)
		}
		w.pass(t, time.Minute)
		for range 3 {
			if err := u.get("eu"); !errors.Is(err, agent.ErrNoWriteLease) {
				t.Errorf("a lease in a region that was adopted and has not seen the adoption: %v", err)
			}
			if err := u.get("us"); err != nil {
				t.Error(err)
			}
		}
		for what, do := range map[string]func() error{
			"a client": func() error {
				_, err := admin.Create(ctx, w.adminAt(t, "eu"), admin.Client{Client: "late"})
				return err
			},
			"a resource": func() error { _, err := w.adminAt(t, "eu").CreateResource(ctx, "c", "p", "us", "new"); return err },
			"a pool": func() error {
				p, err := admin.Get(ctx, w.adminAt(t, "eu"), admin.Pool{Client: "c", Pool: "p"})
				if err == nil {
					_, err = admin.Update(ctx, w.adminAt(t, "eu"), p)
				}
				return err
			},
		} {
			if err := do(); !errors.Is(err, admin.ErrHome) || !strings.Contains(err.Error(), "the home region is us") {
				t.Errorf("%s through the lost home: %v", what, err)
			}
		}
		w.alone(t, "eu", false)
		w.Admin = us
		w.pass(t, time.Minute)
		if err := u.get("eu"); !errors.Is(err, agent.ErrAdopted) {
			t.Errorf("a lease in an adopted region: %v", err)
		}
		w.alike(t, 31)
		if _, err := us.Readmit(ctx, "eu"); err != nil {
			t.Fatal(err)
		}
		w.pass(t, time.Minute)
		if err := u.get("eu"); err != nil && !errors.Is(err, agent.ErrExhausted) {
			t.Errorf("a lease in a readmitted region: %v", err)
		}
		u.apart()
		// Move the home back.
		if h, err := us.MoveHome(ctx, admin.HomeMove{To: "eu"}); err != nil || h.Home != "eu" || h.From != "us" || h.Moving {
			t.Fatalf("%+v, %v", h, err)
		}
		w.Admin = w.adminAt(t, "eu")
		w.alone(t, "eu", true)
		w.pass(t, 3*time.Minute)
		if err := u.get("eu"); err != nil && !errors.Is(err, agent.ErrExhausted) {
			t.Errorf("the home region again, cut off: %v", err)
		}
	})
}

// The home moves while other processes add resources and settings through the former home, and at
// once through the new one. Nothing that was added is lost, and no name has two rows.
func TestHomeMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threeRegions(t)
		ctx, us := t.Context(), w.adminAt(t, "us")
		w.pass(t, 20*time.Second)
		var all sync.WaitGroup
		put := map[string]string{} // resource: region that it was added to
		var mu sync.Mutex
		stop, cancel := context.WithCancel(ctx)
		stopped := map[string]error{}
		for i, by := range []*admin.Admin{w.Admin, us} {
			region := w.regions[i]
			all.Go(func() {
				for n := 0; stop.Err() == nil; n++ {
					name := fmt.Sprintf("both%03d", n)
					_, err := by.CreateResource(ctx, "c", "p", region, name)
					mu.Lock()
					switch {
					case err == nil && put[name] != "":
						t.Errorf("%s was added to %s and to %s", name, put[name], region)
					case err == nil:
						put[name] = region
					case !errors.Is(err, admin.ErrExists) && !errors.Is(err, admin.ErrHome):
						t.Errorf("%s for %s: %v", name, region, err)
					case errors.Is(err, admin.ErrHome):
						stopped[region], n = err, n-1
					}
					mu.Unlock()
					select {
					case <-time.After(50 * time.Millisecond):
					case <-stop.Done():
					}
				}
			})
		}
		wait(t, time.Second)
		var waited time.Duration
		h, err := w.MoveHome(ctx, admin.HomeMove{To: "us", Wait: func(d time.Duration) { waited = d }})
		if err != nil || h.Home != "us" || h.Moving || waited < 10*time.Second {
			t.Errorf("%+v, %v after waiting %v", h, err, waited)
		}
		wait(t, 30*time.Second)
		cancel()
		all.Wait()
		wait(t, time.Second)
		if !errors.Is(stopped["eu"], admin.ErrHome) || !errors.Is(stopped["us"], admin.ErrHome) {
			t.Errorf("refused: %v", stopped)
		}
		count := map[string]int{}
		for _, region := range put {
			count[region]++
		}
		if count["eu"] < 20 || count["us"] < 20 {
			t.Errorf("%v were added: too few for this test", count)
		}
		if err := us.Resources(ctx, "c", admin.ResourceFilter{Prefix: "both"}, func(r admin.Resource) error {
			if r.Region != put[r.Resource] {
				t.Errorf("%s was added to %s, and is %+v", r.Resource, put[r.Resource], r)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		w.alike(t, 30+len(put))
		if h, err := us.MoveHome(ctx, admin.HomeMove{To: "us"}); err != nil || h.Home != "us" || !h.Agrees {
			t.Errorf("repeated: %+v, %v", h, err)
		}
		update(t, &fixture{Admin: us}, admin.Pool{Client: "c", Pool: "p"}, func(p *admin.Pool) { p.Description = "by us" })
		if _, err := admin.Update(ctx, w.Admin, admin.Pool{Client: "c", Pool: "p"}); err == nil {
			t.Error("updated through the former home")
		}
	})
}

// A move that is interrupted at any of its requests is completed by another one. Until then no
// process writes settings.
func TestHomeMoveResumes(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("lost=%t", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { moveInPieces(t, lost) })
		})
	}
}

func moveInPieces(t *testing.T, lost bool) {
	w := threeRegions(t)
	ctx := t.Context()
	w.pass(t, 20*time.Second)
	from, to := "eu", "us"
	for requests := 0; ; requests++ {
		m := admin.HomeMove{To: to}
		if wait(t, 3*time.Minute); lost {
			m.DeadSince = time.Now().Add(-130 * time.Second)
		}
		_, err := w.mortal(t, from, requests).MoveHome(ctx, m)
		if err == nil {
			if requests < 20 {
				t.Errorf("moved with %d requests", requests)
			}
			break
		}
		wait(t, 5*time.Second)
		h, err := w.Home(ctx)
		if err != nil {
			t.Fatal(err)
		}
		writers := map[string]bool{}
		for _, home := range []string{from, to} {
			p, err := admin.Get(ctx, w.adminAt(t, home), admin.Pool{Client: "c", Pool: "p"})
			if err == nil {
				_, err = admin.Update(ctx, w.adminAt(t, home), p)
			}
			if writers[home] = err == nil; err != nil && !errors.Is(err, admin.ErrHome) {
				t.Errorf("after %d requests: %v", requests, err)
			}
		}
		if wait(t, time.Second); h.Moving && (writers[from] || writers[to]) || !h.Moving && (writers[from] == writers[to] || !writers[h.Home]) {
			t.Errorf("interrupted after %d requests: %+v, and these can write: %v", requests, h, writers)
		}
		if wait(t, 3*time.Minute); lost {
			m.DeadSince = time.Now().Add(-130 * time.Second)
		}
		if h, err := w.adminAt(t, from).MoveHome(ctx, m); err != nil || h.Home != to || h.Moving {
			t.Fatalf("after %d requests: %+v, %v", requests, h, err)
		}
		from, to = to, from
	}
	wait(t, time.Second)
	w.alike(t, 30)
}

// mortal is an administrator who stops after some requests.
func (w *fixture) mortal(t testing.TB, home string, requests int) *admin.Admin {
	t.Helper()
	var made atomic.Int64
	die := middleware.InitializeMiddlewareFunc("die", func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
		middleware.InitializeOutput, middleware.Metadata, error,
	) {
		if made.Add(1) > int64(requests) {
			return middleware.InitializeOutput{}, middleware.Metadata{}, errors.New("it is dead")
		}
		return next.HandleInitialize(ctx, in)
	})
	c := w.config(w.regions...)
	c.Home = home
	c.Client = func(region string) *dynamodb.Client {
		o := w.cloud.Region(region).Client().Options()
		o.APIOptions = append(slices.Clone(o.APIOptions), func(s *middleware.Stack) error { return s.Initialize.Add(die, middleware.Before) })
		return dynamodb.New(o)
	}
	a, err := admin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// Of two regions, the one that is not the home stops when the home region is lost, until it is the
// home.
func TestHomeLostOfTwo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := leasedRegions(t, "eu", "us")
		u := w.users(t)
		w.pass(t, 20*time.Second)
		w.alone(t, "eu", true)
		dead := time.Now()
		w.pass(t, 3*time.Minute, "eu")
		if err := u.get("us"); !errors.Is(err, agent.ErrNoWriteLease) {
			t.Errorf("no grantor renews us: %v", err)
		}
		if _, err := w.MoveHome(t.Context(), admin.HomeMove{To: "us", DeadSince: dead}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w.pass(t, time.Minute, "eu")
			if err := u.get("us"); err != nil {
				t.Errorf("us is the home: %v", err)
			}
		}
	})
}

// The lost home added a resource last, which only a third region knows. Its name is not added a
// second time.
func TestHomeLostResource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := threeRegions(t)
		ctx, us := t.Context(), w.adminAt(t, "us")
		if err := w.cloud.Cut("eu", "us", true); err != nil {
			t.Fatal(err)
		}
		if _, err := w.CreateResource(ctx, "c", "p", "ap", "last"); err != nil {
			t.Fatal(err)
		}
		if _, err := admin.Create(ctx, w.Admin, admin.Client{Client: "last"}); err != nil {
			t.Fatal(err)
		}
		update(t, w, admin.Pool{Client: "c", Pool: "p"}, func(p *admin.Pool) { p.Description = "last" })
		wait(t, time.Second)
		w.alone(t, "eu", true)
		wait(t, 3*time.Minute)
		if _, err := us.MoveHome(ctx, admin.HomeMove{To: "us", DeadSince: time.Now().Add(-150 * time.Second)}); err != nil {
			t.Fatal(err)
		}
		if r, err := us.CreateResource(ctx, "c", "p", "us", "last"); !errors.Is(err, admin.ErrExists) || r.Region != "ap" {
			t.Errorf("%+v, %v", r, err)
		}
		n, err := us.ImportResources(ctx, strings.NewReader("last\nnext\n"), admin.ResourceImport{Client: "c", Pool: "p", Region: "us"})
		if err != nil || n.Created != 1 || n.OtherPlace != 1 || n.Lines != 2 {
			t.Errorf("%+v, %v", n, err)
		}
		if _, err := admin.Create(ctx, us, admin.Client{Client: "last"}); !errors.Is(err, admin.ErrExists) {
			t.Errorf("a client that the lost home created last: %v", err)
		}
		if p, err := admin.Get(ctx, us, admin.Pool{Client: "c", Pool: "p"}); err != nil || p.Description != "last" {
			t.Errorf("the last change through the lost home: %+v, %v", p, err)
		}
		w.alone(t, "eu", false)
		if err := w.cloud.Cut("eu", "us", false); err != nil {
			t.Fatal(err)
		}
		wait(t, time.Second)
		w.alike(t, 32)
	})
}

// adminAt returns an administrator with another Config.Home.
func (w *fixture) adminAt(t testing.TB, home string) *admin.Admin {
	t.Helper()
	c := w.config(w.regions...)
	c.Home = home
	a, err := admin.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// alike reports a region whose rows differ from those of the others, or that has another number of
// resources.
func (w *fixture) alike(t *testing.T, resources int) {
	t.Helper()
	tables := map[string][]leasetable.Item{}
	for _, region := range w.regions {
		out, err := w.cloud.Region(region).Client().Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(table)})
		if err != nil {
			t.Fatalf("scan of %s: %v", region, err)
		}
		if len(out.LastEvaluatedKey) > 0 {
			t.Fatalf("scan of %s: this is one page of several", region)
		}
		tables[region] = out.Items
	}
	for _, wrong := range differences(w.regions, tables, resources) {
		t.Error(wrong)
	}
}

// differences returns the rows that the regions do not have alike, with all attributes, and the
// regions that have another number of resources.
func differences(regions []string, tables map[string][]leasetable.Item, resources int) (wrong []string) {
	rows := map[string]map[string]leasetable.Item{} // by region and key
	keys := map[string]bool{}
	for _, region := range regions {
		rows[region] = map[string]leasetable.Item{}
		n := 0
		for _, item := range tables[region] {
			key := leasetable.Text(item, leasetable.PK) + " " + leasetable.Text(item, leasetable.SK)
			if rows[region][key], keys[key] = item, true; strings.HasPrefix(key, "R#") {
				n++
			}
		}
		if n != resources {
			wrong = append(wrong, fmt.Sprintf("%s has %d resources, want %d", region, n, resources))
		}
	}
	first := rows[regions[0]]
	for key := range keys {
		for _, region := range regions[1:] {
			if !reflect.DeepEqual(rows[region][key], first[key]) {
				wrong = append(wrong, fmt.Sprintf("%s is %v in %s, %v in %s", key, rows[region][key], region, first[key], regions[0]))
			}
		}
	}
	return wrong
}

// heartbeatOf writes a heartbeat of a region that has seen its settings.
func heartbeatOf(t *testing.T, w *fixture, region string) {
	t.Helper()
	r, err := admin.Get(t.Context(), w.Admin, admin.Region{Region: region})
	if err != nil {
		t.Fatal(err)
	}
	item := leasetable.PrimaryKey(lease.HeartbeatRow(region))
	item[leasetable.HeartbeatMs], item[leasetable.SettingsSeenMs] = leasetable.N(time.Now().UnixMilli()), leasetable.N(r.Updated.UnixMilli())
	item[leasetable.WriterRegion] = leasetable.S(region)
	if _, err := w.cloud.Region(region).Client().PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(table), Item: item}); err != nil {
		t.Fatal(err)
	}
}
