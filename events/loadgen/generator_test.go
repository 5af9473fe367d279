package loadgen

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// noon is 2026-05-01 12:00 UTC.
const noon = 1_777_636_800_000

func mustNew(t testing.TB, cfg Config) *Generator {
	t.Helper()
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// generated is an event and the record that contains it.
type generated struct {
	*eventspb.AdEvent
	rec Record
}

// run generates n events, perMs per millisecond.
func run(t testing.TB, g *Generator, n, perMs int) []generated {
	t.Helper()
	list := make([]generated, n)
	for i := range list {
		_, rec := g.Append(nil, noon+int64(i/perMs))
		e := &eventspb.AdEvent{}
		if err := proto.Unmarshal(rec.Value, e); err != nil {
			t.Fatalf("event %d: %v", i, err)
		}
		list[i] = generated{e, rec}
	}
	return list
}

func TestEncodingIsTheGeneratedOne(t *testing.T) {
	cfg := Config{Seed: 7, StartMs: noon, DC: "eu-west-1", ClickRate: 0.2, DuplicateRate: 0.1}
	g, twin := mustNew(t, cfg), mustNew(t, cfg)
	for i, m := range run(t, g, 20_000, 5) {
		canonical, err := proto.MarshalOptions{Deterministic: true}.Marshal(m.AdEvent)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(canonical, m.rec.Value) {
			t.Fatalf("event %d: %x, want %x", i, m.rec.Value, canonical)
		}
		if len(m.ProtoReflect().GetUnknown()) > 0 {
			t.Fatalf("event %d has unknown fields", i)
		}
		if next := twin.Next(noon + int64(i/5)); !proto.Equal(next, m.AdEvent) {
			t.Fatalf("event %d: Next generates %v, Append %v", i, next, m.AdEvent)
		}
		if m.rec.Partition != events.Shard(m.Account, events.DefaultShards) || string(m.rec.Key) != m.Account {
			t.Fatalf("event %d of %s goes to partition %d under key %s", i, m.Account, m.rec.Partition, m.rec.Key)
		}
	}
}

func TestEventsAreValid(t *testing.T) {
	g := mustNew(t, Config{Seed: 1, StartMs: noon, ClickRate: 0.3, DuplicateRate: -1})
	for i, m := range run(t, g, 20_000, 10) {
		_, err := events.ParseCurrency(m.Currency)
		switch {
		case err != nil:
			t.Fatal(err)
		case !events.KnownEventType(m.Type) || m.PriceMicros < 0 || m.Campaign == "" || m.Account == "" || m.EventId == "":
			t.Fatalf("event %d: %v", i, m.AdEvent)
		case m.EventMs > m.IngestMs || m.IngestMs-m.EventMs > maxLagMs:
			t.Fatalf("event %d happened at %d and came at %d", i, m.EventMs, m.IngestMs)
		case m.BudgetDay != int32(events.UTCDay(m.EventMs)):
			t.Fatalf("event %d: budget day %d", i, m.BudgetDay)
		}
	}
	for _, ms := range []int64{math.MinInt64, -1, 0, 1} {
		if e := g.Next(ms); e.EventMs < 0 || e.BudgetDay == 0 {
			t.Errorf("at %d: %v", ms, e)
		}
	}
}

func TestSeedDecidesEverything(t *testing.T) {
	base := Config{Seed: 3, StartMs: noon}
	log := func(cfg Config) []byte {
		g, buf := mustNew(t, cfg), []byte(nil)
		for i := range 5000 {
			buf, _ = g.Append(buf, noon+int64(i))
		}
		return buf
	}
	want := log(base)
	if !bytes.Equal(want, log(base)) {
		t.Error("the same configuration made other bytes")
	}
	if bytes.Equal(want, log(Config{Seed: 4, StartMs: noon})) || bytes.Equal(want, log(Config{Seed: 3, StartMs: noon + 1})) {
		t.Error("seed or start made no difference")
	}
}

// TestRestartKeepsTheCampaigns: campaigns depend on the seed and the sizes, not on the start time.
func TestRestartKeepsTheCampaigns(t *testing.T) {
	a, b := mustNew(t, Config{Seed: 9, StartMs: noon}), mustNew(t, Config{Seed: 9, StartMs: noon + 60_000})
	for i := range a.campaigns {
		if x, y := a.campaigns[i], b.campaigns[i]; x != y {
			t.Fatalf("campaign %d changed: %+v, %+v", i, x, y)
		}
	}
}

func TestIDsAreUniqueAcrossRestarts(t *testing.T) {
	ids := map[string]bool{}
	total := 0
	for _, cfg := range []Config{
		{Seed: 0, StartMs: noon},
		{Seed: 0, StartMs: noon + 1},
		{Seed: 1, StartMs: noon},
		{Seed: 11, StartMs: noon},
		{Seed: math.MaxUint64, StartMs: noon},
		{Seed: 1, StartMs: 0},
	} {
		cfg.DuplicateRate, cfg.ClickRate = -1, 0.2
		for _, m := range run(t, mustNew(t, cfg), 20_000, 3) {
			ids[m.EventId] = true
			total++
		}
	}
	if len(ids) != total {
		t.Errorf("%d events have %d ids", total, len(ids))
	}
}

// TestRates checks the shares of clicks and duplicates within five standard deviations, and
// compares Stats with a recount by maps.
func TestRates(t *testing.T) {
	const n = 100_000
	g := mustNew(t, Config{Seed: 5, StartMs: noon, ClickRate: 0.02, DuplicateRate: 0.01})
	var want Stats
	seen := map[string]bool{}
	for _, m := range run(t, g, n, 2) { // 50 s: nearly all clicks have happened
		if seen[m.EventId] {
			want.Duplicates++
			continue
		}
		seen[m.EventId] = true
		want.Micros += m.PriceMicros
		if m.Type == eventspb.EventType_EVENT_TYPE_CLICK {
			want.Clicks++
		} else {
			want.Impressions++
		}
	}
	if got := g.Stats(); got != want {
		t.Errorf("Stats %+v, recount %+v", got, want)
	}
	near(t, "duplicates", float64(want.Duplicates), n, 0.01)
	asked := want.Clicks + int64(len(g.pending))
	near(t, "clicks", float64(asked), float64(want.Impressions), 0.02)
	if len(g.pending) > int(want.Clicks)/2 {
		t.Errorf("%d clicks still wait and only %d came", len(g.pending), want.Clicks)
	}
}

func near(t *testing.T, what string, got, n, p float64) {
	t.Helper()
	if dev := math.Sqrt(n * p * (1 - p)); math.Abs(got-n*p) > 5*dev {
		t.Errorf("%s: %v of %v, want %v +- %.0f", what, got, n, n*p, 5*dev)
	}
}

func TestNegativeRatesMeanNone(t *testing.T) {
	g := mustNew(t, Config{ClickRate: -1, DuplicateRate: -1})
	run(t, g, 50_000, 1)
	if s := g.Stats(); s.Clicks != 0 || s.Duplicates != 0 || s.Impressions != 50_000 {
		t.Errorf("%+v", s)
	}
}

func TestClicksFollowTheirImpressions(t *testing.T) {
	g := mustNew(t, Config{Seed: 2, StartMs: noon, ClickRate: 0.1})
	impressions := map[string]*eventspb.AdEvent{}
	clicks, paid := 0, 0
	for _, m := range run(t, g, 100_000, 2) {
		if m.Type == eventspb.EventType_EVENT_TYPE_IMPRESSION {
			if m.InsertionId != m.EventId {
				t.Fatalf("impression %v has another insertion id", m.AdEvent)
			}
			impressions[m.InsertionId] = m.AdEvent
			continue
		}
		clicks++
		of := impressions[m.InsertionId]
		if of == nil || of.Campaign != m.Campaign || of.Account != m.Account {
			t.Fatalf("click %v follows %v", m.AdEvent, of)
		}
		if d := m.EventMs - of.EventMs; d < minDelayMs || d > minDelayMs+delayRangeMs {
			t.Fatalf("a click %d ms after its impression", d)
		}
		if (m.PriceMicros > 0) == (of.PriceMicros > 0) {
			t.Fatalf("both or none of impression and click are paid: %v, %v", of, m.AdEvent)
		}
		if m.PriceMicros > 0 {
			paid++
		}
	}
	if clicks < 5000 || paid == 0 {
		t.Errorf("%d clicks, %d of them paid", clicks, paid)
	}
}

func TestPricesSpreadAroundTheMedian(t *testing.T) {
	g := mustNew(t, Config{Seed: 8, Zipf: Even, Flat: true, ClickRate: -1, MedianMicros: 10_000})
	var prices []float64
	for _, m := range run(t, g, 50_000, 100) {
		prices = append(prices, math.Log(float64(m.PriceMicros)))
	}
	slices.Sort(prices)
	at := func(q float64) float64 { return prices[int(q*float64(len(prices)-1))] }
	if median := math.Exp(at(0.5)); median < 9_000 || median > 11_000 {
		t.Errorf("median %v, want about 10,000", median)
	}
	// Two independent log-normal factors, sigma 0.5 and 0.6: log prices are normal with sigma 0.78.
	if sigma := (at(0.8413) - at(0.1587)) / 2; sigma < 0.72 || sigma > 0.84 {
		t.Errorf("sigma %v, want about 0.78", sigma)
	}
}

func TestCampaignsHaveADailyCycle(t *testing.T) {
	g := mustNew(t, Config{Seed: 6, Zipf: Even, ClickRate: -1, DuplicateRate: -1, Accounts: 10, CampaignsPerAccount: 8})
	profileOf := map[string]uint8{}
	for _, c := range g.campaigns {
		profileOf[c.name()] = c.profile
	}
	const day0 = noon - dayMs/2
	count := func(atMs int64) (n [profiles]float64) {
		for range 5_000 {
			n[profileOf[g.Next(atMs).Campaign]]++
		}
		return n
	}
	campaigns := [profiles]float64{}
	for _, p := range profileOf {
		campaigns[p]++
	}
	for p := range profiles {
		peak := count(day0 + int64(p)*dayMs/profiles)
		trough := count(day0 + int64(p+profiles/2)%profiles*dayMs/profiles)
		if peak[p] < 2*trough[p] {
			t.Errorf("profile %d (%v campaigns): %v events at its peak, %v half a day away", p, campaigns[p], peak[p], trough[p])
		}
	}
}

func TestHeartbeatsOnceASecond(t *testing.T) {
	g := mustNew(t, Config{DC: "ap-south-1"})
	want := []struct {
		ms int64
		n  int
	}{{noon, events.DefaultShards}, {noon + 1, 0}, {noon + 999, 0}, {noon + 1000, events.DefaultShards}, {noon + 9000, events.DefaultShards}, {noon + 9100, 0}, {noon + 8000, 0}}
	total := int64(0)
	for _, w := range want {
		records := g.Heartbeats(w.ms)
		if len(records) != w.n {
			t.Fatalf("at +%d ms: %d heartbeats, want %d", w.ms-noon, len(records), w.n)
		}
		total += int64(w.n)
		for p, rec := range records {
			var e eventspb.AdEvent
			if err := proto.Unmarshal(rec.Value, &e); err != nil {
				t.Fatal(err)
			}
			if int(rec.Partition) != p || rec.Key != nil {
				t.Fatalf("heartbeat %d: partition %d, key %q", p, rec.Partition, rec.Key)
			}
			beat := &eventspb.AdEvent{Type: eventspb.EventType_EVENT_TYPE_HEARTBEAT, EventMs: w.ms, IngestMs: w.ms, ServingDc: "ap-south-1"}
			if !proto.Equal(&e, beat) {
				t.Fatalf("heartbeat %v, want %v", &e, beat)
			}
		}
	}
	if got := g.Stats().Heartbeats; got != total {
		t.Errorf("Stats has %d heartbeats, want %d", got, total)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for name, cfg := range map[string]Config{
		"accounts":   {Accounts: -1},
		"campaigns":  {CampaignsPerAccount: -2},
		"too many":   {Accounts: 10_000_000, CampaignsPerAccount: 10},
		"zipf":       {Zipf: -0.5},
		"zipf NaN":   {Zipf: math.NaN()},
		"clicks":     {ClickRate: 1.1},
		"clicks NaN": {ClickRate: math.NaN()},
		"duplicates": {DuplicateRate: 0.6},
		"currency":   {Currencies: []string{"USD", "usd"}},
		"price":      {MedianMicros: -1},
		"price high": {MedianMicros: 2_000_000_000},
		"start":      {StartMs: -1},
	} {
		if g, err := New(cfg); err == nil || g != nil {
			t.Errorf("%s: New accepted %+v", name, cfg)
		}
	}
}
