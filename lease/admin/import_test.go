package admin_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/dynamotest"
	"github.com/weirhq/weir/lease/admin"
)

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "r%06d\n", i)
	}
	return b.String()
}

func count(t testing.TB, w *fixture, f admin.ResourceFilter) (n int) {
	t.Helper()
	if err := w.Resources(t.Context(), "c", f, func(admin.Resource) error { n++; return nil }); err != nil {
		t.Fatal(err)
	}
	return n
}

// Existing resources are not changed, and every line is counted.
func TestImport(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu", "us")
	ctx := t.Context()
	create(t, w, admin.Pool{Client: "c", Pool: "q"})
	for _, r := range []struct{ name, pool string }{{"r000003", "p"}, {"r000004", "q"}, {"r000005", "p"}} {
		if _, err := w.CreateResource(ctx, "c", r.pool, "eu", r.name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Retire(ctx, "c", "r000005", false); err != nil {
		t.Fatal(err)
	}
	var rejected []string
	reject := func(r admin.RejectedLine) error {
		rejected = append(rejected, fmt.Sprintf("%d: %.10s: %v", r.Line, r.Text, r.Err))
		return nil
	}
	in := "\ufeff" + lines(0, 100) + "\n" + "r000007\r\n" + "a\x00b\n" + strings.Repeat("x", 200_000) + "\n" + "last"
	sum, err := w.ImportResources(ctx, strings.NewReader(in), admin.ResourceImport{
		Client: "c", Pool: "p", Region: "eu", Rejected: reject,
	})
	want := admin.ImportProgress{Lines: 105, Created: 98, Existing: 2, Retired: 1, Blank: 1, Rejected: 3}
	if err != nil || sum != want {
		t.Errorf("%+v, %v, want %+v", sum, err, want)
	}
	slices.Sort(rejected)
	if len(rejected) != 3 || !strings.HasPrefix(rejected[0], "103: a\x00b: ") || !strings.HasPrefix(rejected[1], "104: xxxxxxxxxx: ") ||
		!strings.HasPrefix(rejected[2], "5: r000004: ") || !strings.Contains(rejected[2], `is in pool "q"`) {
		t.Errorf("rejected: %q", rejected)
	}
	if n := count(t, w, admin.ResourceFilter{}); n != 101 {
		t.Errorf("%d resources", n)
	}
	w.cloud.Settle()
	if n := count(t, w, admin.ResourceFilter{State: admin.Available, Pool: "p"}); n != 99 {
		t.Errorf("%d resources are available", n)
	}
	for _, c := range []struct {
		im   admin.ResourceImport
		want error
	}{
		{admin.ResourceImport{Client: "c", Pool: "none", Region: "eu"}, admin.ErrNotFound},
		{admin.ResourceImport{Client: "c", Pool: "p", Region: "none"}, admin.ErrNotFound},
		{admin.ResourceImport{Client: "", Pool: "p", Region: "eu"}, admin.ErrInvalid},
	} {
		if _, err := w.ImportResources(ctx, strings.NewReader("r"), c.im); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.im, err, c.want)
		}
	}
}

// An interrupted import resumes, also while DynamoDB throttles, fails and loses answers: every
// resource exists once, and resources that were leased in between stay leased.
func TestImportInterrupted(t *testing.T) {
	w := newFixture(t, dynamotest.Hostile(), "eu", "us")
	w.cloud.SetFaults(
		dynamotest.Fault{Kind: dynamotest.Throttle, Rate: 0.05, Operation: "BatchExecuteStatement"},
		dynamotest.Fault{Kind: dynamotest.ServerError, Rate: 0.05, Operation: "BatchExecuteStatement"},
		dynamotest.Fault{Kind: dynamotest.LostAnswer, Rate: 0.05, Operation: "BatchExecuteStatement"},
	)
	const all = 5000
	in := lines(0, all)
	im := admin.ResourceImport{Client: "c", Pool: "p", Region: "eu", ID: "file"}
	var skipped int64
	runs := 0
	for done := false; !done; runs++ {
		ctx, cancel := context.WithCancel(t.Context())
		im.Progress = func(s admin.ImportProgress) {
			if s.Created > all/4 {
				cancel()
			}
		}
		sum, err := w.ImportResources(ctx, strings.NewReader(in), im)
		cancel()
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if sum.Earlier < skipped {
			t.Errorf("%d lines were skipped, %d before", sum.Earlier, skipped)
		}
		skipped = sum.Earlier
		done = err == nil
	}
	if runs < 2 {
		t.Error("it was never interrupted")
	}
	w.cloud.SetFaults()
	if n := count(t, w, admin.ResourceFilter{}); n != all {
		t.Errorf("%d resources, want %d", n, all)
	}
	sum, err := w.ImportResources(t.Context(), strings.NewReader(in), im)
	if err != nil || sum.Earlier != all {
		t.Errorf("repeated: %+v, %v", sum, err)
	}
}

// An import waits while DynamoDB does not answer, reports it, and continues by itself.
func TestImportWaitsForAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		const all, outage = 5000, 10 * time.Minute
		var down atomic.Bool
		var seen []admin.ImportOutage
		sum, err := w.ImportResources(t.Context(), strings.NewReader(lines(0, all)), admin.ResourceImport{
			Client: "c", Pool: "p", Region: "eu", ID: "file",
			Progress: func(s admin.ImportProgress) {
				if s.Created > 1000 && down.CompareAndSwap(false, true) {
					w.cloud.SetFaults(dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1})
					time.AfterFunc(outage, func() { w.cloud.SetFaults() })
				}
			},
			Outage: func(o admin.ImportOutage) { seen = append(seen, o) },
		})
		if err != nil || sum.Created != all || !down.Load() {
			t.Fatalf("%+v, %v", sum, err)
		}
		last := seen[len(seen)-1]
		if seen[0].Err == nil || last.Err != nil || last.For < outage-10*time.Second || len(seen) < 8 || len(seen) > 13 {
			t.Errorf("%d reports from %+v to %+v, want one at the begin, one a minute, and one at the end", len(seen), seen[0], last)
		}
	})
}

// An import gives up when DynamoDB does not answer for MaxOutage. Its error has the cause once.
func TestImportGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, dynamotest.Profile{}, "eu")
		const limit = 5 * time.Minute
		var begun time.Time
		sum, err := w.ImportResources(t.Context(), strings.NewReader(lines(0, 20_000)), admin.ResourceImport{
			Client: "c", Pool: "p", Region: "eu", ID: "file", MaxOutage: limit,
			Progress: func(s admin.ImportProgress) {
				if s.Created > 1000 && begun.IsZero() {
					begun = time.Now()
					w.cloud.SetFaults(dynamotest.Fault{Kind: dynamotest.Unreachable, Rate: 1})
				}
			},
		})
		if took := time.Since(begun); !errors.Is(err, agent.ErrUnavailable) || took < limit || took > limit+time.Minute || sum.Created < 1000 {
			t.Fatalf("%+v, %v, %v after the begin of the outage", sum, err, took)
		}
		if n := strings.Count(err.Error(), agent.ErrUnavailable.Error()); n != 1 {
			t.Errorf("the cause is %d times in: %v", n, err)
		}
	})
}

// A name with invisible characters cannot be created. A line that is not a name is reported by each
// run, and an error of the caller ends the import.
func TestImportRejectsAgain(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	full := errors.New("the disk is full")
	im := admin.ResourceImport{Client: "c", Pool: "p", Region: "eu", ID: "file"}
	for _, bad := range []string{"a\u202eb", "a\u200b", "a\u2028b"} {
		if _, err := w.CreateResource(t.Context(), "c", "p", "eu", bad); !errors.Is(err, admin.ErrInvalid) {
			t.Errorf("a resource named %q: %v, want %v", bad, err, admin.ErrInvalid)
		}
		if _, err := admin.Create(t.Context(), w.Admin, admin.Pool{Client: "c", Pool: bad}); !errors.Is(err, admin.ErrInvalid) {
			t.Errorf("a pool named %q: %v, want %v", bad, err, admin.ErrInvalid)
		}
		sum, err := w.ImportResources(t.Context(), strings.NewReader(bad), admin.ResourceImport{Client: "c", Pool: "p", Region: "eu"})
		if err != nil || sum.Rejected != 1 {
			t.Errorf("an import of %q: %+v, %v", bad, sum, err)
		}
	}
	for run, want := range []admin.ImportProgress{{Lines: 3, Created: 2, Rejected: 1}, {Lines: 3, Earlier: 2, Rejected: 1}} {
		if sum, err := w.ImportResources(t.Context(), strings.NewReader("a\nb\x01\nc\n"), im); err != nil || sum != want {
			t.Errorf("run %d: %+v, %v, want %+v", run, sum, err, want)
		}
	}
	im.Rejected = func(admin.RejectedLine) error { return full }
	if _, err := w.ImportResources(t.Context(), strings.NewReader("a\nb\x01\nc\n"), im); !errors.Is(err, full) {
		t.Errorf("%v, want %v", err, full)
	}
}

// A resource of another pool is rejected by each run, until it leaves that pool. Other lines are
// imported once, also if they follow a rejected line. If the table cannot keep all rejected lines,
// those after them are read again.
func TestImportRejectsOtherPoolsAgain(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	ctx := t.Context()
	create(t, w, admin.Pool{Client: "c", Pool: "q"})
	const good, other = 4000, 1500
	if sum, err := w.ImportResources(ctx, strings.NewReader(lines(0, other)), admin.ResourceImport{Client: "c", Pool: "q", Region: "eu"}); err != nil || sum.Created != other {
		t.Fatalf("%+v, %v", sum, err)
	}
	for _, c := range []struct {
		id, in  string
		first   admin.ImportProgress
		again   admin.ImportProgress
		settled admin.ImportProgress // after r000000 was moved
	}{
		{
			"few", "first\nr000000\n" + lines(other, other+good) + "r000001\nlast",
			admin.ImportProgress{Lines: good + 4, Created: good + 2, Rejected: 2},
			admin.ImportProgress{Lines: good + 4, Earlier: good + 2, Rejected: 2},
			admin.ImportProgress{Lines: good + 4, Earlier: good + 2, Existing: 1, Rejected: 1},
		},
		{
			// Of the 1,499 rejected lines the table keeps 1,000. The last 499 are read again, with
			// the good line between them.
			"many", "other\n" + lines(1, 1200) + "among\n" + lines(1200, other),
			admin.ImportProgress{Lines: other + 1, Created: 2, Rejected: other - 1},
			admin.ImportProgress{Lines: other + 1, Earlier: 1, Existing: 1, Rejected: other - 1},
			admin.ImportProgress{Lines: other + 1, Earlier: 1, Existing: 1, Rejected: other - 1},
		},
	} {
		t.Run(c.id, func(t *testing.T) {
			im := admin.ResourceImport{Client: "c", Pool: "p", Region: "eu", ID: c.id}
			run := func(what string, want admin.ImportProgress) {
				t.Helper()
				seen := map[int64]bool{}
				im.Rejected = func(r admin.RejectedLine) error {
					if seen[r.Line] || !errors.Is(r.Err, admin.ErrExists) {
						t.Errorf("%s: line %d: %v", what, r.Line, r.Err)
					}
					seen[r.Line] = true
					return nil
				}
				if sum, err := w.ImportResources(ctx, strings.NewReader(c.in), im); err != nil || sum != want || int64(len(seen)) != want.Rejected {
					t.Errorf("%s: %+v, %v, %d reports, want %+v", what, sum, err, len(seen), want)
				}
			}
			run("first", c.first)
			run("second", c.again)
			run("third", c.again)
			if _, err := w.SetPool(ctx, "c", "r000000", "p", false); err != nil {
				t.Fatal(err)
			}
			run("after a move", c.settled)
		})
	}
}

// An import that is repeated adds no resource again; at most the batches under way are repeated.
func TestImportGoesOn(t *testing.T) {
	w := newFixture(t, dynamotest.Profile{}, "eu")
	ctx, cancel := context.WithCancel(t.Context())
	im := admin.ResourceImport{Client: "c", Pool: "p", Region: "eu", ID: "file", MaxRate: 5000, Progress: func(s admin.ImportProgress) {
		if s.Created > 1000 {
			cancel()
		}
	}}
	in := lines(0, 10_000)
	first, err := w.ImportResources(ctx, strings.NewReader(in), im)
	if !errors.Is(err, context.Canceled) || first.Created < 1000 || first.Created > 9000 {
		t.Fatalf("%+v, %v", first, err)
	}
	im.MaxRate, im.Progress = 0, nil
	second, err := w.ImportResources(t.Context(), strings.NewReader(in), im)
	const underWay = 32 * 25
	if err != nil || second.Earlier < first.Created-underWay || second.Earlier > first.Created+underWay || second.Lines != 10_000 {
		t.Errorf("%+v, %v, after %+v", second, err, first)
	}
	im.ID = "other"
	if third, err := w.ImportResources(t.Context(), strings.NewReader(in), im); err != nil || third.Existing != 10_000 {
		t.Errorf("%+v, %v", third, err)
	}
}

// BenchmarkImport imports resources into a DynamoDB emulator in this process.
func BenchmarkImport(b *testing.B) {
	w := newFixture(b, dynamotest.Profile{}, "eu-west-1")
	b.ReportAllocs()
	sum, err := w.ImportResources(b.Context(), strings.NewReader(lines(0, b.N)), admin.ResourceImport{Client: "c", Pool: "p", Region: "eu-west-1"})
	if err != nil || sum.Created != int64(b.N) {
		b.Fatalf("%+v, %v", sum, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "resources/s")
}
