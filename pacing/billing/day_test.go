package billing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
)

const day = events.Day(2026_11_20)

// row is spend, in units of the currency.
type row struct {
	campaign string
	day      events.Day
	currency string
	units    float64
}

// document returns the document of a JSON text, with an account, a time zone and EUR.
func document(t testing.TB, version int, text string) *budget.Document {
	t.Helper()
	d, err := budget.Decode([]byte(fmt.Sprintf(`{"account":"acme","version":%d,"time_zone":"Europe/Berlin","currency":"EUR",%s}`, version, text)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// note returns the budgets of the day with documents that were in force one after the other.
func note(t testing.TB, texts ...string) (m *eventspb.DayBudgets) {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range texts {
		m = Note(m, document(t, i+1, text), day, berlin)
	}
	return m
}

// bill returns what is billed, a campaign in each line.
func bill(m *eventspb.DayBudgets, rows []row) string {
	d := NewDay(m)
	for _, r := range rows {
		d.Add(r.campaign, r.day, cmp.Or(r.currency, "EUR"), int64(r.units*1e6))
	}
	var lines []string
	for _, r := range d.Bill() {
		line := fmt.Sprint(cmp.Or(r.GetCampaign(), "all"), " ", budget.FormatAmount(r.GetSpentMicros()), " ", r.GetCurrency(), " billed ",
			budget.FormatAmount(r.GetBilledMicros()))
		if r.BudgetMicros != nil {
			line += " of " + budget.FormatAmount(r.GetBudgetMicros())
		}
		if r.GetShared() != "" {
			line += " by " + r.GetShared()
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

// TestBill: what is billed of a day, by kinds of budgets and changes of them within the day.
func TestBill(t *testing.T) {
	for name, c := range map[string]struct {
		documents []string
		rows      []row
		want      string
	}{
		"daily": {
			[]string{`"campaigns":[{"campaign":"a","daily":"10"},{"campaign":"b","daily":"5"},{"campaign":"idle","daily":"5"}]`},
			[]row{{"a", day, "", 10.25}, {"b", day, "", 4}, {"a", day - 1, "", 99}, {"a", 0, "", 99}, {"a", day + 1, "", 99}},
			"a 10.25 EUR billed 10.00 of 10.00; b 4.00 EUR billed 4.00 of 5.00; all 14.25 EUR billed 14.00",
		},
		"the greatest of the day counts": {
			[]string{
				`"campaigns":[{"campaign":"a","daily":"10"},{"campaign":"b","daily":"5"}]`, `"campaigns":[{"campaign":"a","daily":"30"}]`,
				`"campaigns":[{"campaign":"a","daily":"20"}]`,
			},
			[]row{{"a", day, "", 31}, {"b", day, "", 6}},
			"a 31.00 EUR billed 30.00 of 30.00; b 6.00 EUR billed 5.00 of 5.00; all 37.00 EUR billed 35.00",
		},
		"another kind within the day": {
			[]string{`"campaigns":[{"campaign":"a","daily":"10"}]`, `"campaigns":[{"campaign":"a","lifetime":"50"}]`},
			[]row{{"a", day, "", 31}, {"a", day - 1, "", 28}},
			"a 31.00 EUR billed 22.00 of 22.00; all 31.00 EUR billed 22.00",
		},
		"no budget of its own for a part of the day": {
			[]string{
				`"shared":[{"id":"s","daily":"30"}],"campaigns":[{"campaign":"a","daily":"10","shared":"s"}]`,
				`"shared":[{"id":"s","daily":"30"}],"campaigns":[{"campaign":"a","shared":"s"}]`,
			},
			[]row{{"a", day, "", 31}},
			"a 31.00 EUR billed 30.00 by s; all 31.00 EUR billed 30.00",
		},
		"lifetime": {
			[]string{`"campaigns":[{"campaign":"a","lifetime":"100"},{"campaign":"b","lifetime":"100",` +
				`"flights":[{"begin":"2026-11-10","end":"2026-11-20"}]},` +
				`{"campaign":"c","lifetime":"100","flights":[{"begin":"2026-11-21"}]},{"campaign":"d","lifetime":"100"}]`},
			[]row{
				{"a", day, "", 50},
				{"a", day - 1, "", 20},
				{"a", 2026_01_01, "", 10},
				{"a", 0, "", 40},
				{"b", day, "", 50},
				{"b", 2026_11_10, "", 60},
				{"b", 2026_11_09, "", 60},
				{"c", day, "", 1},
				{"d", day, "", 3},
				{"d", day - 1, "", 120},
				{"a", day - 1, "USD", 99},
			},
			"a 50.00 EUR billed 30.00 of 30.00; b 50.00 EUR billed 40.00 of 40.00; c 1.00 EUR billed 0.00 of 0.00; " +
				"d 3.00 EUR billed 0.00 of 0.00; all 104.00 EUR billed 70.00",
		},
		"average of a month": { // 30 days of 10, and up to 20 of one day
			[]string{`"campaigns":[{"campaign":"a","average_daily":"10","cap":"2"},{"campaign":"b","average_daily":"10","cap":"2"}]`},
			[]row{{"a", day, "", 21}, {"a", 2026_11_01, "", 100}, {"b", day, "", 21}, {"b", 2026_11_01, "", 285}, {"b", 2026_10_31, "", 99}, {"b", 0, "", 99}},
			"a 21.00 EUR billed 20.00 of 20.00; b 21.00 EUR billed 15.00 of 15.00; all 42.00 EUR billed 35.00",
		},
		"shared, in proportion": {
			[]string{`"shared":[{"id":"all","daily":"20"},{"id":"s","daily":"9.000001","parent":"all"}],` +
				`"campaigns":[{"campaign":"a","shared":"s"},{"campaign":"b","daily":"6","shared":"s"},{"campaign":"c","shared":"all"},{"campaign":"d","shared":"all"}]`},
			[]row{{"a", day, "", 12}, {"b", day, "", 7}, {"c", day, "", 30}, {"d", day, "", -5}},
			"a 12.00 EUR billed 3.846153 by all; b 7.00 EUR billed 1.923078 of 6.00 by all; c 30.00 EUR billed 19.230769 by all; " +
				"d -5.00 EUR billed -5.00; all 44.00 EUR billed 20.00",
		},
		"without a budget": {
			[]string{`"campaigns":[{"campaign":"a","daily":"0"}]`},
			[]row{{"a", day, "", 1}, {"other", day, "", 2}, {"a", day, "USD", 3}, {"nothing", day, "", 0}},
			"a 1.00 EUR billed 0.00 of 0.00; a 3.00 USD billed 3.00; other 2.00 EUR billed 2.00; all 3.00 EUR billed 2.00",
		},
		"no spend": {[]string{`"campaigns":[{"campaign":"a","daily":"0"}]`}, nil, "all 0.00 EUR billed 0.00"},
	} {
		if got := bill(note(t, c.documents...), c.rows); got != c.want {
			t.Errorf("%s\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestBudgets: PACE-36. No campaign, and no shared budget, has more billed than it allows, nothing
// is cut without need, and amounts add up, whatever the order of the rows.
func TestBudgets(t *testing.T) {
	cuts := 0
	rapid.Check(t, func(rt *rapid.T) {
		m := &eventspb.DayBudgets{Account: "acme", Day: int32(day), Currency: "EUR"}
		limits := rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) *eventspb.DayLimit {
			return &eventspb.DayLimit{
				DayMicros: rapid.Int64Range(0, 100).Draw(rt, "day"), PeriodMicros: rapid.Int64Range(0, 200).Draw(rt, "period"),
				From: int32(day) - rapid.Int32Range(0, 2).Draw(rt, "from"), Lifetime: rapid.Bool().Draw(rt, "lifetime"),
			}
		}), 0, 2)
		above := func(n int) string {
			if i := rapid.IntRange(0, n).Draw(rt, "above"); i < n {
				return fmt.Sprint("s", i)
			}
			return ""
		}
		for i := range rapid.IntRange(0, 4).Draw(rt, "shared") {
			m.Shared = append(m.Shared, &eventspb.DayBudget{Id: fmt.Sprint("s", i), Shared: above(i), Limits: limits.Draw(rt, "limits")})
		}
		var rows []row
		for i := range rapid.IntRange(1, 6).Draw(rt, "campaigns") {
			id := fmt.Sprint("c", i)
			m.Campaigns = append(m.Campaigns, &eventspb.DayBudget{Id: id, Shared: above(len(m.GetShared())), Limits: limits.Draw(rt, "limits")})
			for range rapid.IntRange(0, 3).Draw(rt, "rows") {
				at := rapid.SampledFrom([]events.Day{day, day, day - 1, day - 2, day - 3, 0}).Draw(rt, "row day")
				rows = append(rows, row{id, at, "EUR", float64(rapid.Int64Range(-50, 150).Draw(rt, "micros")) / 1e6})
			}
		}
		records := func(rows []row) []*eventspb.BilledSpend {
			d := NewDay(m)
			for _, r := range rows {
				d.Add(r.campaign, r.day, r.currency, int64(math.Round(r.units*1e6)))
			}
			return d.Bill()
		}
		got := records(rows)
		reversed := slices.Clone(rows)
		slices.Reverse(reversed)
		if !slices.EqualFunc(got, records(reversed), func(a, b *eventspb.BilledSpend) bool { return proto.Equal(a, b) }) {
			rt.Fatal("the order of the rows counts")
		}
		cuts += checkBilled(rt, m, rows, got)
	})
	if cuts == 0 {
		t.Error("no shared budget has cut anything")
	}
}

// checkBilled compares records with a second computation, and returns the number of shared budgets
// that are used up.
func checkBilled(rt *rapid.T, m *eventspb.DayBudgets, rows []row, got []*eventspb.BilledSpend) (full int) {
	total := got[len(got)-1]
	billed, spent := map[string]int64{}, map[string]int64{}
	var sum int64
	for _, r := range got[:len(got)-1] {
		billed[r.GetCampaign()], spent[r.GetCampaign()] = r.GetBilledMicros(), r.GetSpentMicros()
		sum += r.GetBilledMicros()
		if r.GetBilledMicros() > r.GetSpentMicros() || r.GetSpentMicros() > 0 && r.GetBilledMicros() < 0 {
			rt.Fatalf("billed more than spent, or a credit for spend: %v", r)
		}
	}
	if sum != total.GetBilledMicros() || int(total.GetRecords()) != len(got)-1 || total.GetCampaign() != "" {
		rt.Fatalf("the record of the account is %v, of %d billed", total, sum)
	}
	parent := map[string]string{}
	for _, b := range slices.Concat(m.GetShared(), m.GetCampaigns()) {
		parent[b.GetId()] = b.GetShared()
	}
	under := func(campaign, id string) bool {
		for at := campaign; at != ""; at = parent[at] {
			if at == id {
				return true
			}
		}
		return false
	}
	limited := map[string]bool{} // by a budget that is used up, or below it
	for _, b := range slices.Concat(m.GetShared(), m.GetCampaigns()) {
		if len(b.GetLimits()) == 0 {
			continue
		}
		allowed := int64(0)
		for _, l := range b.GetLimits() {
			left := l.GetPeriodMicros()
			before := int64(0)
			for _, r := range rows {
				if under(r.campaign, b.GetId()) && r.day != day && (r.day >= events.Day(l.GetFrom()) || r.day == 0 && l.GetLifetime()) {
					before += int64(math.Round(r.units * 1e6))
				}
			}
			allowed = max(allowed, min(l.GetDayMicros(), left-max(0, before)))
		}
		var of int64
		for c, micros := range billed {
			if under(c, b.GetId()) {
				of += micros
			}
		}
		if of > allowed && of > 0 {
			rt.Fatalf("%s has %d billed, and allows %d", b.GetId(), of, allowed)
		}
		if of == allowed {
			for c := range billed {
				if under(c, b.GetId()) {
					limited[c] = true
				}
			}
			if strings.HasPrefix(b.GetId(), "s") {
				full++
			}
		}
	}
	for c := range billed {
		if billed[c] < spent[c] && !limited[c] && !cutLower(got, c) {
			rt.Fatalf("%s has %d of %d billed, and no budget above it is used up", c, billed[c], spent[c])
		}
	}
	return full
}

// cutLower reports whether a campaign was cut by a shared budget: a higher one may have cut more
// afterwards, so that the lower one is not used up any more.
func cutLower(got []*eventspb.BilledSpend, campaign string) bool {
	return slices.ContainsFunc(got, func(r *eventspb.BilledSpend) bool {
		return r.GetCampaign() == campaign && (r.GetShared() != "" || r.BudgetMicros != nil && r.GetSpentMicros() > r.GetBudgetMicros())
	})
}
