package liberator

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weirhq/weir/stream/streamtest"
)

// burst returns a runner with n leases that all end at 10 s, named in order.
func burst(t testing.TB, n int, buckets int32) *streamtest.Runner {
	r := newRunner(t, testConfig())
	r.Append(marshal(t, settings(1, 60_000, buckets)))
	for i := range n {
		r.Append(marshal(t, leased(fmt.Sprintf("r%06d", i), 1, 10_000)))
	}
	r.Fold(n + 1)
	r.Commit(1000)
	return r
}

// TestBudget: 5,000 leases of a pool with 2 buckets end at once. They are released at 400 per
// second, in their order, each once.
func TestBudget(t *testing.T) {
	r := burst(t, 5000, 2)
	var order []string
	perSecond := map[int64]int{}
	end := int64(0)
	for now := int64(11_001); now < 30_000; now += 100 {
		r.Commit(now)
		for _, c := range commands(t, r) {
			order = append(order, c.GetLiberate().Resource)
			perSecond[now/1000]++
			end = now
		}
	}
	if len(order) != 5000 || !slices.IsSorted(order) || len(slices.Compact(slices.Clone(order))) != 5000 {
		t.Fatalf("%d commands, in order %t", len(order), slices.IsSorted(order))
	}
	for s, n := range perSecond {
		if s > 11 && n > 440 {
			t.Errorf("%d commands in second %d", n, s)
		}
	}
	if perSecond[11] > 800 || end < 22_000 || end > 23_600 {
		t.Errorf("%d commands in the first second, the last at %d", perSecond[11], end)
	}
}

// TestMissedSlots: the task is down while slots pass. They are not used all at once after it.
func TestMissedSlots(t *testing.T) {
	r := burst(t, 4000, 2)
	r.Commit(11_001) // 400 at once, 3,600 slots in the 9 s that follow
	first := len(commands(t, r))
	r.Crash()
	total, window := first, []int{}
	for now := int64(31_000); total < 4000 && now < 60_000; now += 100 {
		r.Commit(now)
		n := len(commands(t, r))
		total += n
		window = append(window, n)
	}
	if first != 401 || total != 4000 {
		t.Fatalf("%d commands before, %d in all", first, total)
	}
	for i := 10; i <= len(window); i++ {
		n := 0
		for _, x := range window[i-10 : i] {
			n += x
		}
		if n > 880 {
			t.Fatalf("%d commands within a second: %v", n, window)
		}
	}
}

// TestBudgetsAreApart: a pool's burst delays neither another pool nor the same pool in another
// region.
func TestBudgetsAreApart(t *testing.T) {
	r := burst(t, 4000, 2)
	other, otherRegion, s := leased("x", 1, 10_000), leased("z", 1, 10_000), settings(1, 60_000, 1)
	other.Pool, s.Pool = "other", "other"
	otherRegion.GetResource().Owner = "us"
	r.Append(marshal(t, s), marshal(t, other), marshal(t, otherRegion))
	r.Fold(3)
	r.Commit(11_001)
	seen := map[string]bool{}
	for _, c := range commands(t, r) {
		seen[c.Pool+c.Region] = true
	}
	if !seen["othereu"] || !seen["pus"] {
		t.Errorf("commands for %v", seen)
	}
}
