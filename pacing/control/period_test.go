package control

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestMonthly: by hand, for an average of 10 USD a day.
func TestMonthly(t *testing.T) {
	p, err := Monthly(10*usd, 2)
	if err != nil || p.Limit != 304*usd || p.Most != 20*usd {
		t.Fatalf("%+v, %v", p, err)
	}
	for _, c := range []struct {
		spent, left float64 // USD; days left, with today
		want        float64 // USD
	}{
		{0, 31, 304 / 31.0},
		{0, 28, 304 / 28.0},
		{0, 30.4, 10},
		{200, 15.4, 104 / 15.4}, // more than the average was spent
		{54, 20, 12.5},          // less was spent: the rest is spread
		{4, 5, 20},              // and capped
		{303, 1, 1},
		{304, 1, 0},
		{310, 3, 0},
		{-10, 31.4, 10},
	} {
		p.Spent, p.Today, p.Rest = c.spent*usd, 1, c.left
		if got := p.Budget() / usd; math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%.0f USD spent, %.1f days left: %.4f, want %.4f", c.spent, c.left, got, c.want)
		}
	}
	for _, factor := range []float64{0.99, 2.01, 0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Monthly(10*usd, factor); !errors.Is(err, ErrCapFactor) {
			t.Errorf("factor %v: %v", factor, err)
		}
	}
	if p, err := Monthly(-5, 1); err != nil || p.Budget() != 0 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestPeriod: whatever days spend of their budgets, the sum is never above the limit, no day is
// above the cap, and if all days spend theirs, the limit is reached. A dumb sum of the rest gives
// the same budget.
func TestPeriod(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.Float64Range(0, 25), 1, 31).Draw(t, "weights")
		p := Period{Limit: rapid.Float64Range(0, 1e12).Draw(t, "limit")}
		if rapid.Bool().Draw(t, "capped") {
			p.Most = rapid.Float64Range(1, 1e12).Draw(t, "most")
		}
		all := rapid.Bool().Draw(t, "all")
		short, last := false, 0.0
		for i, w := range weights {
			rest := 0.0
			for _, v := range weights[i:] {
				rest += v
			}
			p.Today, p.Rest = w, rest
			b := p.Budget()
			want := 0.0
			if w > 0 {
				want = (p.Limit - p.Spent) * w / rest
			}
			if p.Most > 0 && want > p.Most {
				want, short = p.Most, true
			}
			if !(b >= 0) || p.Most > 0 && b > p.Most || math.Abs(b-want) > 1e-3 {
				t.Fatalf("day %d: %v, want %v of %+v", i, b, want, p)
			}
			if all {
				p.Spent += b
			} else {
				p.Spent += b * rapid.Float64Range(0, 1).Draw(t, "spent")
			}
			last = max(last, w)
		}
		if p.Spent > p.Limit*(1+1e-9) {
			t.Fatalf("%v of %v", p.Spent, p.Limit)
		}
		if all && !short && weights[len(weights)-1] > 0 && last > 0 && p.Spent < p.Limit*(1-1e-9) {
			t.Fatalf("only %v of %v", p.Spent, p.Limit)
		}
	})
	for _, p := range []Period{{}, {Limit: math.NaN(), Today: 1, Rest: 2}, {Limit: 5, Today: math.NaN(), Rest: 1}, {Limit: 5, Spent: math.NaN(), Today: 1}} {
		if got := p.Budget(); got != 0 {
			t.Errorf("%+v: %v", p, got)
		}
	}
}
