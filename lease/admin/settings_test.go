package admin_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/admin"
	leasetable "github.com/weirhq/weir/lease/table"
)

func TestSettings(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu", "us")
	ctx := t.Context()

	// Created, read, changed, listed, deleted.
	made, err := admin.Create(ctx, w.Admin, admin.Pool{Client: "c", Pool: "q", LongestLease: admin.Duration(time.Minute), StoredRow: admin.StoredRow{Description: "for q"}})
	if err != nil {
		t.Fatal(err)
	}
	if made.Quarantine != admin.Duration(10*time.Second) || made.Buckets != 10 || made.Version == 0 || made.Updated.IsZero() {
		t.Errorf("defaults: %+v", made)
	}
	got, err := admin.Get(ctx, w.Admin, admin.Pool{Client: "c", Pool: "q"})
	if err != nil || !reflect.DeepEqual(got, made) {
		t.Errorf("%+v, %v, want %+v", got, err, made)
	}
	changed := got
	changed.Quarantine, changed.Buckets = admin.Duration(time.Minute), 20
	changed.Floors, changed.Balance, changed.Duplicates, changed.Forecast = map[string]int64{"eu": 5}, "off", "release", "holt"
	if changed, err = admin.Update(ctx, w.Admin, changed); err != nil || changed.Version != made.Version+1 {
		t.Fatalf("%+v, %v", changed, err)
	}
	if list, err := admin.List(ctx, w.Admin, admin.Pool{Client: "c"}); err != nil || len(list) != 2 || !reflect.DeepEqual(list[1], changed) {
		t.Errorf("%+v, %v", list, err)
	}

	for _, c := range []struct {
		name string
		do   func() error
		want error
		text string
	}{
		{"again", func() error { _, err := admin.Create(ctx, w.Admin, admin.Pool{Client: "c", Pool: "q"}); return err }, admin.ErrExists, "pool"},
		{"at an old version", func() error { _, err := admin.Update(ctx, w.Admin, got); return err }, admin.ErrVersionConflict, "read it again"},
		{"fewer buckets", func() error {
			v := changed
			v.Buckets = 5
			_, err := admin.Update(ctx, w.Admin, v)
			return err
		}, admin.ErrInvalid, "from 20 to 5"},
		{"short quarantine", func() error {
			v := changed
			v.Quarantine = admin.Duration(time.Second / 10)
			_, err := admin.Update(ctx, w.Admin, v)
			return err
		}, admin.ErrInvalid, "clock skew"},
		{"floor of a region that is none", func() error {
			v := changed
			v.Floors = map[string]int64{"ap": 1}
			_, err := admin.Update(ctx, w.Admin, v)
			return err
		}, admin.ErrInvalid, "floor for ap"},
		{"floor below nothing", func() error {
			v := changed
			v.Floors = map[string]int64{"eu": -1}
			_, err := admin.Update(ctx, w.Admin, v)
			return err
		}, admin.ErrInvalid, "floor of eu is -1"},
		{"unknown mode", func() error {
			v := changed
			v.Duplicates = "kill"
			_, err := admin.Update(ctx, w.Admin, v)
			return err
		}, admin.ErrInvalid, "supersede, observe, release"},
		{"adopted by hand", func() error {
			v, err := admin.Get(ctx, w.Admin, admin.Region{Region: "us"})
			if err != nil {
				return err
			}
			v.State = "adopted"
			_, err = admin.Update(ctx, w.Admin, v)
			return err
		}, admin.ErrInvalid, "use Adopt"},
		{"swing to itself", func() error {
			_, err := admin.Create(ctx, w.Admin, admin.Region{Region: "us", SwingTo: "us", SwingPercent: 10})
			return err
		}, admin.ErrInvalid, "another region"},
		{"swing to nowhere", func() error {
			_, err := admin.Create(ctx, w.Admin, admin.Region{Region: "us", SwingTo: "ap", SwingPercent: 10})
			return err
		}, admin.ErrInvalid, "cannot swing to ap"},
		{"short write lease", func() error {
			_, err := admin.Create(ctx, w.Admin, admin.Region{Region: "us", WriteLease: admin.Duration(time.Second)})
			return err
		}, admin.ErrInvalid, "write lease"},
		{"no client", func() error { _, err := admin.Create(ctx, w.Admin, admin.Pool{Client: "d", Pool: "q"}); return err }, admin.ErrNotFound, `client "d"`},
		{"no name", func() error { _, err := admin.Create(ctx, w.Admin, admin.Client{}); return err }, admin.ErrInvalid, "empty"},
		{"not found", func() error { _, err := admin.Get(ctx, w.Admin, admin.Region{Region: "ap"}); return err }, admin.ErrNotFound, `region "ap"`},
		{"not configured", func() error { _, err := admin.Create(ctx, w.Admin, admin.Region{Region: "ap"}); return err }, admin.ErrInvalid, "configured"},
		{"client in use", func() error { return admin.Delete(ctx, w.Admin, admin.Client{Client: "c"}, false) }, admin.ErrInUse, "number of pools 2"},
		{"by way of another region", func() error {
			w.cloud.Settle()
			_, err := admin.Update(ctx, w.admin(t, "us", "eu"), changed)
			return err
		}, admin.ErrHome, "the home region is eu"},
		{"removed by way of another region", func() error {
			return admin.Delete(ctx, w.admin(t, "us", "eu"), admin.Pool{Client: "c", Pool: "q"}, false)
		}, admin.ErrHome, "the home region is eu"},
		{"a resource by way of another region", func() error {
			_, err := w.admin(t, "us", "eu").CreateResource(ctx, "c", "p", "us", "r")
			return err
		}, admin.ErrHome, "the home region is eu"},
		{"resources by way of another region", func() error {
			_, err := w.admin(t, "us", "eu").ImportResources(ctx, strings.NewReader("r"), admin.ResourceImport{Client: "c", Pool: "p", Region: "us"})
			return err
		}, admin.ErrHome, "the home region is eu"},
		{"a pool by way of another region", func() error {
			_, err := admin.Create(ctx, w.admin(t, "us", "eu"), admin.Pool{Client: "c", Pool: "z"})
			return err
		}, admin.ErrHome, "the home region is eu"},
	} {
		if err := c.do(); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v, want %v with %q", c.name, err, c.want, c.text)
		}
	}
	if err := admin.Delete(ctx, w.Admin, admin.Pool{Client: "c", Pool: "q"}, true); err != nil {
		t.Error(err)
	}
	if _, err := admin.Get(ctx, w.Admin, changed); err != nil {
		t.Errorf("after a dry run: %v", err)
	}
	if err := admin.Delete(ctx, w.Admin, admin.Pool{Client: "c", Pool: "q"}, false); err != nil {
		t.Error(err)
	}
	if _, err := admin.Get(ctx, w.Admin, changed); !errors.Is(err, admin.ErrNotFound) {
		t.Errorf("after it was deleted: %v", err)
	}
}

func TestImportSettings(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	v := admin.Client{Client: "d", StoredRow: admin.StoredRow{Description: "one", Version: 17}}
	for _, c := range []struct {
		name string
		dry  bool
		text string
		want admin.Outcome
	}{
		{"dry", true, "one", admin.Created},
		{"new", false, "one", admin.Created},
		{"the same", false, "one", admin.Unchanged},
		{"other, dry", true, "two", admin.Updated},
		{"other", false, "two", admin.Updated},
		{"the same again", false, "two", admin.Unchanged},
	} {
		v.Description = c.text
		if got, err := admin.Import(t.Context(), w.Admin, v, c.dry); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.name, got, err, c.want)
		}
	}
}

// A field that a file omits has its default, and does not count as a change.
func TestImportDefaults(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	v := admin.Pool{Client: "c", Pool: "q"}
	for _, c := range []struct {
		dry  bool
		want admin.Outcome
	}{{true, admin.Created}, {false, admin.Created}, {false, admin.Unchanged}, {true, admin.Unchanged}} {
		if got, err := admin.Import(t.Context(), w.Admin, v, c.dry); err != nil || got != c.want {
			t.Errorf("dry %v: %s, %v, want %s", c.dry, got, err, c.want)
		}
	}
	v.Quarantine = admin.Duration(time.Millisecond)
	if _, err := admin.Import(t.Context(), w.Admin, v, true); !errors.Is(err, admin.ErrInvalid) {
		t.Errorf("a dry run of an invalid change: %v", err)
	}
}

// create creates settings.
func create[T any, P admin.Entity[T]](t testing.TB, w *fixture, v T) {
	t.Helper()
	if _, err := admin.Create[T, P](t.Context(), w.Admin, v); err != nil {
		t.Fatal(err)
	}
}

// The longest lease that a pool ever had is kept over all changes. Without the attribute it is the
// present longest lease.
func TestLongestEver(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu", "us")
	ctx := t.Context()
	hours := func(n int) admin.Duration { return admin.Duration(time.Duration(n) * time.Hour) }
	pool := func(longest int) admin.Pool {
		return admin.Pool{Client: "c", Pool: "q", LongestLease: hours(longest)}
	}
	look := func(longest, ever int) admin.Pool {
		t.Helper()
		p, err := admin.Get(ctx, w.Admin, pool(0))
		if err != nil || p.LongestLease != hours(longest) || p.LongestEver != hours(ever) {
			t.Errorf("the longest is %v, ever %v, %v; want %d and %d hours", p.LongestLease, p.LongestEver, err, longest, ever)
		}
		return p
	}
	bring := func(p admin.Pool, want admin.Outcome) {
		t.Helper()
		if got, err := admin.Import(ctx, w.Admin, p, false); got != want || err != nil {
			t.Errorf("import of %+v: %s, %v, want %s", p, got, err, want)
		}
	}
	bring(pool(5), admin.Created)
	p := look(5, 5)
	p.LongestLease, p.LongestEver = hours(1), 0 // of a caller that does not set it
	if _, err := admin.Update(ctx, w.Admin, p); err != nil {
		t.Fatal(err)
	}
	look(1, 5)
	bring(pool(1), admin.Unchanged)
	bring(pool(2), admin.Updated)
	look(2, 5)
	bring(pool(7), admin.Updated)
	bring(pool(3), admin.Updated)
	p = look(3, 7)

	// A row without the attribute: the longest lease term ever is the present one.
	item := leasetable.PrimaryKey(lease.PoolRow("c", "q"))
	if _, err := w.cloud.Region("eu").Client().UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: aws.String(table), Key: item, UpdateExpression: aws.String("REMOVE " + leasetable.LongestLeaseEverMs),
	}); err != nil {
		t.Fatal(err)
	}
	look(3, 3)
	bring(pool(3), admin.Unchanged)
	bring(pool(1), admin.Updated)
	look(1, 3)
	p.LongestEver = admin.Duration(1000 * 24 * time.Hour)
	if _, err := admin.Import(ctx, w.Admin, p, false); !errors.Is(err, admin.ErrInvalid) {
		t.Errorf("ever %v: %v, want %v", p.LongestEver, err, admin.ErrInvalid)
	}
}
