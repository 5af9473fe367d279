package replay_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/pacing/replay"
)

const tickMs = 10_000

// service is the pacing of an account whose ticks are recorded.
type service struct {
	pacer    *control.Pacer
	account  *pack.Account
	versions budget.Versions
	packs    map[int]*eventspb.AccountPack // by a reader of the changelog
	at       int64
	spent    map[string]int64
}

func newService(rule control.Controller, d *budget.Document) *service {
	s := &service{
		pacer: control.NewPacer(control.Config{Controller: rule}), packs: map[int]*eventspb.AccountPack{},
		at: time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC).UnixMilli(), spent: map[string]int64{}, versions: budget.Versions{}.Add(d),
	}
	s.takeOver()
	return s
}

// takeOver makes another owner.
func (s *service) takeOver() {
	s.account = pack.New("acme", s.pacer)
	s.account.SetVersions(s.versions)
	var list []*eventspb.AccountPack
	for _, m := range s.packs {
		list = append(list, m)
	}
	s.account.Restore(list)
}

// tick has a recorded tick.
func (s *service) tick(ageMs int64, unread bool) *eventspb.AccountTick {
	q, _ := s.account.Prepare(s.at)
	for _, c := range []string{"c", "d"} {
		q.Sums.AddToday(&pack.Row{Campaign: c, Day: q.Day, Currency: "EUR", Micros: s.spent[c], Arms: []pack.ArmSpend{{Arm: "x", Micros: s.spent[c] / 3}}})
	}
	m := &eventspb.AccountTick{}
	for _, part := range s.account.Step(&pack.Signals{AtMs: s.at, Query: q, Complete: true, AgeMs: ageMs, Unread: unread, Recorded: m}) {
		s.packs[part] = s.account.Pack(part)
	}
	return m
}

// check compares a replay with the account.
func (s *service) check(t interface{ Fatalf(string, ...any) }, r *replay.Account) {
	now := s.account.Pack(0)
	at := 0
	compare := func(m *eventspb.PacedNode) {
		n := r.Nodes[at]
		at++
		limitedBy, kind := "", eventspb.LimitedByKind_LIMITED_BY_KIND_UNSPECIFIED
		if up := n.LimitedBy; up != nil {
			if limitedBy, kind = up.ID, eventspb.LimitedByKind_LIMITED_BY_KIND_SHARED; up.Kind == eventspb.NodeKind_NODE_KIND_CAMPAIGN {
				kind = eventspb.LimitedByKind_LIMITED_BY_KIND_CAMPAIGN
			}
		}
		if n.Cost > 1e9 { // much more than is spent in a tick
			t.Fatalf("tick %d, node %q: a cost of %g", r.Ticks, n.ID, n.Cost)
		}
		if string(n.Reason) != m.GetReason() || limitedBy != m.GetLimitedBy() || kind != m.GetLimitedByKind() || n.Spent != m.GetSpentMicros() {
			t.Fatalf("tick %d, node %q: replayed %q, limited by %q, %d spent; was\n%v", r.Ticks, n.ID, n.Reason, limitedBy, n.Spent, m)
		}
		want := control.Params{Open: m.GetOpen(), Probability: m.GetProbability(), Multiplier: m.GetMultiplier()}
		if n.ID != m.GetId() || n.Params != want || n.Paced != (m.GetState() != nil) || n.Paced && n.Pace != pack.Pace(m.GetState()) {
			t.Fatalf("tick %d, node %q: replayed\n%+v %+v, was\n%v", r.Ticks, n.ID, n.Params, n.Pace, m)
		}
	}
	for _, m := range now.GetShared() {
		compare(m)
	}
	for _, m := range now.GetCampaigns() {
		compare(m)
	}
	for _, c := range now.GetCampaigns() {
		for _, m := range c.GetArms() {
			compare(m)
		}
	}
	if at != len(r.Nodes) {
		t.Fatalf("%d of %d nodes", at, len(r.Nodes))
	}
}

// encoded returns a tick as it is read from the topic.
func encoded(t interface{ Fatalf(string, ...any) }, m *eventspb.AccountTick) *eventspb.AccountTick {
	b, err := proto.Marshal(m)
	read := &eventspb.AccountTick{}
	if err == nil {
		err = proto.Unmarshal(b, read)
	}
	if err != nil {
		t.Fatalf("%v", err)
	}
	return read
}

// growth is the spend of the nodes of a tick.
type growth struct {
	day   int32
	spent map[[2]string]int64
}

// check checks by how much the spend of each node has grown since the last call.
func (g *growth) check(t interface{ Fatalf(string, ...any) }, r *replay.Account) {
	now := map[[2]string]int64{}
	for _, n := range r.Nodes {
		k := [2]string{n.Campaign, n.ID}
		before, ok := g.spent[k]
		want := n.Spent - before
		switch {
		case g.day != r.Tick.GetBudgetDay() && g.day != 0:
			want = n.Spent
		case !ok:
			want = 0
		}
		if now[k] = n.Spent; n.Grown != want {
			t.Fatalf("tick %d: node %v has grown by %d, want %d", r.Ticks, k, n.Grown, want)
		}
	}
	g.day, g.spent = r.Tick.GetBudgetDay(), now
}

func document(t testing.TB, version uint64, campaigns ...budget.Campaign) *budget.Document {
	t.Helper()
	d := &budget.Document{
		Account: "acme", Version: version, Zone: "Europe/Berlin", Currency: "EUR", Campaigns: campaigns,
		Shared: []budget.Shared{{ID: "s", Limit: daily(150)}},
	}
	d, err := budget.FromRecord(d.Record())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func daily(units int64) budget.Limit { return budget.Limit{Kind: budget.Daily, Micros: units * 1e6} }

func arms() []budget.Arm { return []budget.Arm{{ID: "x", PPM: 333_333}, {ID: "y", PPM: 666_667}} }

// TestRandom: PACE-32, and the parameters of each tick, through takeovers, overrides, packs of
// another datacentre, changes of the budgets, days, clocks that are set back, and spend that is
// stale or cannot be read.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.SampledFrom([]budget.Limit{daily(10), daily(0), daily(1000), {Kind: budget.Lifetime, Micros: 30e6}})
		draw := func(version uint64) *budget.Document {
			c := budget.Campaign{ID: "c", Shared: "s", Limit: limit.Draw(rt, "limit")}
			c.Limit.Controller = rapid.SampledFrom([]string{"", "asap", "dual", "pid", "ptr"}).Draw(rt, "controller")
			if rapid.Bool().Draw(rt, "arms") {
				c.Arms = arms()
			}
			return document(t, version, c, budget.Campaign{ID: "d", Shared: "s"})
		}
		rule := rapid.SampledFrom(control.Controllers()).Draw(rt, "rule")
		grown := growth{}
		s, r := newService(rule, draw(1)), replay.New(replay.Config{Controller: control.PID{}})
		for i := range rapid.IntRange(1, 80).Draw(rt, "ticks") {
			s.at += rapid.SampledFrom([]int64{tickMs, tickMs, tickMs, tickMs, 0, -tickMs, 70_000, 9 * 3_600_000}).Draw(rt, "ms")
			switch rapid.IntRange(0, 12).Draw(rt, "event") {
			case 0:
				s.versions = s.versions.Add(draw(uint64(i + 2)))
				s.account.SetVersions(s.versions)
			case 1:
				s.takeOver()
			case 2:
				s.account.SetOverrides([]*eventspb.CampaignOverride{{
					Account: "acme", Campaign: rapid.SampledFrom([]string{"c", "d"}).Draw(rt, "campaign"), AtMs: s.at,
					Probability: rapid.SampledFrom([]float64{0, 0.4}).Draw(rt, "probability"), UntilMs: s.at + 5*tickMs,
				}})
			case 3:
				for _, m := range s.packs {
					other := proto.CloneOf(m)
					other.WriterDc = "us"
					for _, n := range other.GetCampaigns() {
						n.Reason, n.LimitedBy = string(control.Behind), ""
					}
					s.account.Observe(other)
				}
			}
			if rapid.IntRange(0, 3).Draw(rt, "reported") == 0 {
				s.account.Shown(&eventspb.InsertionSums{AtMs: s.at, Campaigns: []*eventspb.CampaignInsertions{{
					Campaign: rapid.SampledFrom([]string{"c", "d"}).Draw(rt, "shown"), Arm: rapid.SampledFrom([]string{"", "x"}).Draw(rt, "arm"),
					ExpectedMicros: rapid.SampledFrom([]int64{10_000, 1e6}).Draw(rt, "expected"),
				}}})
			}
			for _, c := range []string{"c", "d"} {
				s.spent[c] += rapid.SampledFrom([]int64{0, 1000, 100_000, -50_000}).Draw(rt, "spend")
			}
			age := rapid.SampledFrom([]int64{2000, 2000, 2000, 40_000, 700_000}).Draw(rt, "age")
			m := s.tick(age, rapid.IntRange(0, 4).Draw(rt, "unread") == 0)
			if ok, err := r.Add(encoded(rt, m)); !ok || err != nil {
				rt.Fatalf("tick %d: %t, %v", i, ok, err)
			}
			s.check(rt, r)
			grown.check(rt, r)
		}
		if r.Wrong > 0 || r.Skipped > 0 {
			rt.Fatalf("%+v", r.Stats)
		}
	})
}

// run returns the recorded ticks of an hour.
func run(t testing.TB) (ticks []*eventspb.AccountTick) {
	t.Helper()
	s := newService(control.Ratio{}, document(t, 1, budget.Campaign{ID: "c", Shared: "s", Limit: daily(100), Arms: arms()},
		budget.Campaign{ID: "d", Shared: "s"}))
	s.spent["c"] = 50e6
	for range 360 {
		s.at += tickMs
		s.spent["c"] += 20_000
		ticks = append(ticks, s.tick(2000, false))
	}
	return ticks
}

// TestFaults: a replay notices what it was not given, and what is not as it was.
func TestFaults(t *testing.T) {
	const states = 6 * 4 // whole ticks in an hour, after the first one, by nodes with a controller
	for _, c := range []struct {
		name  string
		alter func([]*eventspb.AccountTick) []*eventspb.AccountTick
		want  replay.Stats
		wrong bool
	}{
		{"none", func(l []*eventspb.AccountTick) []*eventspb.AccountTick { return l }, replay.Stats{Ticks: 360, States: states}, false},
		{"it begins within", func(l []*eventspb.AccountTick) []*eventspb.AccountTick { return l[1:] }, replay.Stats{}, false},
		{"a tick is missing", func(l []*eventspb.AccountTick) []*eventspb.AccountTick { return append(l[:100:100], l[101:]...) }, replay.Stats{}, false},
		{"another cost", func(l []*eventspb.AccountTick) []*eventspb.AccountTick {
			for _, n := range l[100].GetNodes() {
				n.CostMicros *= 2
			}
			return l
		}, replay.Stats{Ticks: 360, States: states}, true},
		{"another plan", func(l []*eventspb.AccountTick) []*eventspb.AccountTick {
			l[100].Planned *= 0.99
			return l
		}, replay.Stats{Ticks: 360, States: states}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := replay.New(replay.Config{})
			for _, m := range c.alter(run(t)) {
				if _, err := r.Add(encoded(t, m)); err != nil {
					t.Fatal(err)
				}
			}
			got := r.Stats
			if c.want.Ticks == 0 { // until the next whole tick
				if got.Skipped == 0 || got.Skipped >= 60 || got.States >= states || got.Wrong != 0 || got.Ticks < 290 {
					t.Errorf("%+v", got)
				}
				return
			}
			if (got.Wrong > 0) != c.wrong {
				t.Errorf("%d states differ", got.Wrong)
			}
			if got.Wrong = 0; got != c.want {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestMessages: a tick in several messages is one.
func TestMessages(t *testing.T) {
	one, many := replay.New(replay.Config{}), replay.New(replay.Config{})
	for _, m := range run(t) {
		rest := m.GetNodes()
		for len(rest) > 1 {
			part := encoded(t, m)
			part.Nodes, part.More = rest[:1], true
			if ok, err := many.Add(encoded(t, part)); ok || err != nil {
				t.Fatal(ok, err)
			}
			rest = rest[1:]
		}
		last := encoded(t, m)
		last.Nodes = rest
		for r, m := range map[*replay.Account]*eventspb.AccountTick{one: encoded(t, m), many: last} {
			if ok, err := r.Add(m); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
	}
	if a, b := fmt.Sprintf("%+v", one.Nodes[1].Pace), fmt.Sprintf("%+v", many.Nodes[1].Pace); a != b || one.Stats != many.Stats {
		t.Errorf("%s\n%s\n%+v %+v", a, b, one.Stats, many.Stats)
	}
}

// TestDamaged: ticks that no pacing has written are errors, and a tick whose first messages are not
// there is skipped.
func TestDamaged(t *testing.T) {
	for want, alter := range map[string]func(*eventspb.AccountTick){
		`the controller "x"`: func(m *eventspb.AccountTick) { m.Controller = "x" },
		"has the number 3":   func(m *eventspb.AccountTick) { m.Nodes[2].Node = 3 },
		"and the name":       func(m *eventspb.AccountTick) { m.Nodes[1].Name = nil },
		"are above node 1":   func(m *eventspb.AccountTick) { m.Nodes[1].Name.Above = 2 },
		"out of its bounds":  func(m *eventspb.AccountTick) { m.Nodes[1].State.Probability = 2 },
	} {
		m, r := encoded(t, run(t)[0]), replay.New(replay.Config{})
		alter(m)
		if ok, err := r.Add(m); ok || !errors.Is(err, replay.ErrTick) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %t, %v", want, ok, err)
		}
	}
	m, r := encoded(t, run(t)[0]), replay.New(replay.Config{})
	m.Nodes = m.GetNodes()[1:]
	if ok, err := r.Add(m); ok || err != nil || r.Skipped != 1 {
		t.Errorf("the end of a tick: %t, %v, %+v", ok, err, r.Stats)
	}
}

// TestTolerance: states that another processor has rounded are the same, and others are not.
func TestTolerance(t *testing.T) {
	for factor, wrong := range map[float64]bool{1: false, 1 + 1e-9: false, 1 + 1e-4: true} {
		r := replay.New(replay.Config{})
		for _, m := range run(t) {
			m = encoded(t, m)
			for _, n := range m.GetNodes() {
				if n.State != nil {
					n.State.Probability = min(1, n.State.Probability*factor)
				}
			}
			if _, err := r.Add(m); err != nil {
				t.Fatal(err)
			}
		}
		if (r.Wrong > 0) != wrong {
			t.Errorf("by a factor of %g: %+v", factor, r.Stats)
		}
	}
}

// TestOther: another rule begins with the first tick, and moves by the same signals.
func TestOther(t *testing.T) {
	same, dual := replay.New(replay.Config{Controller: control.Ratio{}}), replay.New(replay.Config{Controller: control.Dual{}})
	for _, m := range run(t) {
		for _, r := range []*replay.Account{same, dual} {
			if _, err := r.Add(encoded(t, m)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range same.Nodes {
		n, d := same.Nodes[i], dual.Nodes[i]
		if !n.Paced {
			continue
		}
		if math.Abs(n.Other.Probability-n.Pace.Probability) > 1e-3 {
			t.Errorf("%s: the same rule has %+v and %+v", n.ID, n.Other, n.Pace)
		}
		if d.Other.Probability != 1 || !(d.Other.Multiplier < 1) {
			t.Errorf("%s: dual has %+v", n.ID, d.Other)
		}
	}
}

// FuzzAdd: no tick breaks a replay. Its parameters are in their bounds.
func FuzzAdd(f *testing.F) {
	for _, m := range run(f)[:2] {
		b, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, b)
	}
	f.Fuzz(func(t *testing.T, one, two []byte) {
		r := replay.New(replay.Config{Controller: control.Dual{}})
		for _, b := range [][]byte{one, two} {
			m := &eventspb.AccountTick{}
			if proto.Unmarshal(b, m) != nil {
				continue
			}
			if ok, err := r.Add(m); err != nil {
				if ok || !errors.Is(err, replay.ErrTick) {
					t.Fatal(ok, err)
				}
				continue
			}
			for _, n := range r.Nodes {
				if !n.Params.Valid() && (n.Override == nil || !(*n.Override > 0)) {
					t.Fatalf("%+v", n)
				}
			}
		}
	})
}
