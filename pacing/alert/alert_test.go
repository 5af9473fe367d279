package alert

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

func alertOf(change func(*eventspb.BudgetAlert)) *eventspb.BudgetAlert {
	at := time.Date(2026, 11, 27, 14, 5, 0, 0, time.UTC)
	m := &eventspb.BudgetAlert{
		Account: "acme", Campaign: "spring", BudgetDay: 2026_11_27, Currency: "EUR", Percent: 80, BudgetMicros: 100_000_000,
		SpentMicros: 80_125_000, AtMs: at.UnixMilli(), RunsOutMs: at.Add(3 * time.Hour).UnixMilli(), DayEndMs: at.Add(9 * time.Hour).UnixMilli(),
		Version: 3, WriterDc: "eu",
	}
	if change != nil {
		change(m)
	}
	return m
}

func TestText(t *testing.T) {
	for want, change := range map[string]func(*eventspb.BudgetAlert){
		"spring of acme has spent 80.125 of 100.00 EUR on 2026-11-27 (80 %), and at this rate it spends the rest by 17:05 UTC.": nil,
		"the shared budget all of acme has spent 100.00 of 100.00 EUR on 2026-11-27 (100 %).": func(m *eventspb.BudgetAlert) {
			m.Campaign, m.Shared, m.Percent, m.SpentMicros, m.RunsOutMs = "", "all", 100, 100_000_000, 0
		},
		"spring of acme has spent 20.00 of 100.00 EUR on 2026-11-27, and at this rate it spends the rest by 17:05 UTC, 6 h 0 min before " +
			"the day ends: do the ad servers follow its parameters?": func(m *eventspb.BudgetAlert) { m.Percent, m.SpentMicros = 0, 20_000_000 },
	} {
		if got := New(alertOf(change)).Text; got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// TestIDs: different alerts have different ids.
func TestIDs(t *testing.T) {
	ids := map[string]bool{}
	list := []func(*eventspb.BudgetAlert){
		nil, func(m *eventspb.BudgetAlert) { m.Account = "b" }, func(m *eventspb.BudgetAlert) { m.Campaign = "b" },
		func(m *eventspb.BudgetAlert) { m.Campaign, m.Shared = "", "spring" }, func(m *eventspb.BudgetAlert) { m.Percent = 0 },
		func(m *eventspb.BudgetAlert) { m.BudgetDay++ }, func(m *eventspb.BudgetAlert) { m.Version++ },
		func(m *eventspb.BudgetAlert) { m.Campaign = "the shared budget spring" },
		func(m *eventspb.BudgetAlert) { m.Account, m.Campaign = "acme/campaign/a", "b" },
		func(m *eventspb.BudgetAlert) { m.Account, m.Campaign = "acme", "a/campaign/b" },
	}
	for _, change := range list {
		ids[New(alertOf(change)).ID] = true
	}
	if again := New(alertOf(func(m *eventspb.BudgetAlert) { m.AtMs++ })).ID; len(ids) != len(list) || !ids[again] {
		t.Errorf("%d ids of %d alerts: %v", len(ids), len(list), ids)
	}
}

// FuzzDecode: whatever a record has, it is an alert with a text, or an error.
func FuzzDecode(f *testing.F) {
	value, err := proto.Marshal(alertOf(nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(value)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, value []byte) {
		d, err := Decode(value)
		if err == nil && (d.Text == "" || d.ID == "" || d.Account == "") {
			t.Errorf("%x: %+v", value, d)
		}
	})
}
