package pacing

import (
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/pacing/replay"
)

// replayed is the replay of the committed ticks of a task.
type replayed struct {
	accounts map[string]*replay.Account
	paces    map[string]map[int64]replay.Node // by account and time of a tick: campaign c
}

// take replays the ticks that were committed since the last call.
func (r *replayed) take(x *pacedTask) {
	x.t.Helper()
	for _, c := range x.TakeOutputs() {
		if c.To.Output.Name != signalsOutput {
			continue
		}
		m := &eventspb.PacingSignals{}
		if err := proto.Unmarshal(c.Value, m); err != nil {
			x.t.Fatal(err)
		}
		if c.To.Partition != 0 || m.GetWriterDc() != "eu" || m.GetOwnerEpoch() == 0 || len(m.GetTicks()) == 0 || c.To.TimeMs != m.GetTicks()[0].GetAtMs() {
			x.t.Errorf("%+v %v", c, m)
		}
		for _, t := range m.GetTicks() {
			a := r.accounts[t.GetAccount()]
			if a == nil {
				a = replay.New(replay.Config{})
				r.accounts[t.GetAccount()], r.paces[t.GetAccount()] = a, map[int64]replay.Node{}
			}
			ok, err := a.Add(t)
			if err != nil {
				x.t.Fatal(err)
			}
			if ok {
				r.paces[t.GetAccount()][t.GetAtMs()] = a.Nodes[0]
			}
		}
	}
}

// TestSignals: the committed ticks of all owners give the state of each committed pack, also after
// aborted transactions and crashes.
func TestSignals(t *testing.T) {
	accounts := []string{"acme", "bolt", "cove"}
	inBubble(t, accounts, func(x *pacedTask) {
		r := replayed{map[string]*replay.Account{}, map[string]map[int64]replay.Node{}}
		packs := 0
		compare := func() {
			r.take(x)
			for _, account := range accounts {
				m := x.pack(account)
				n, ok := r.paces[account][m.GetAtMs()]
				if !ok || n.Pace != pack.Pace(m.GetCampaigns()[0].GetState()) || n.Params.Probability != m.GetCampaigns()[0].GetProbability() {
					t.Fatalf("%s at %d: %t, replayed %+v, the pack has %v", account, m.GetAtMs(), ok, n, m)
				}
				packs++
			}
		}
		for i := range 120 {
			for k, account := range accounts {
				x.spend.do(func() { x.spend.units[account] += float64(k+1) * 0.01 })
			}
			switch x.run(11); {
			case i%10 == 3:
				x.second()
				x.Abort(time.Now().UnixMilli())
			case i%10 == 7:
				x.second()
				x.Crash()
			}
			x.run(1)
			compare()
		}
		for _, account := range accounts {
			s := r.accounts[account].Stats
			if s.Wrong != 0 || s.Skipped != 0 || s.Ticks < 120 {
				t.Errorf("%s: %+v", account, s)
			}
		}
		if packs < 300 {
			t.Errorf("%d packs", packs)
		}
	})
}

// TestLargeTick: the ticks of large accounts are in several messages and records, and are replayed
// as one. A record of nodes of the greatest size is not too large for the topic.
func TestLargeTick(t *testing.T) {
	var log signalLog
	tick := &eventspb.AccountTick{Account: "acme", AtMs: 1, Whole: true, Controller: "ratio"}
	const nodes = 5500
	for i := range nodes {
		tick.Nodes = append(tick.Nodes, &eventspb.NodeTick{
			Node: uint32(i), CostMicros: 1, BudgetMicros: new(int64(math.MaxInt64)), SpentMicros: math.MaxInt64, Reason: "behind_plan", Replaced: true,
			Name:      &eventspb.NodeName{Kind: eventspb.NodeKind_NODE_KIND_CAMPAIGN, Id: fmt.Sprintf("%0*d", budget.MaxIDBytes, i)},
			Condition: &eventspb.NodeCondition{Limited: true, OverrideProbability: new(1.0), Peers: 3, PeersLog: 1},
			State: &eventspb.PaceState{
				Probability: 1, Multiplier: 1, Dual: 1, Cost: 1, Need: 1, Error: 1, Day: 2026_12_01, AtMs: 1 << 41, Budget: 1, Planned: 1, Closed: true,
				Open: true, Tiny: true, Action: 1, Rate: 1, Allowance: 1, AnchorSpent: 1, AnchorPlanned: 1, Chance: 1, Ticks: 1,
			},
		})
	}
	if err := log.add(tick); err != nil {
		t.Fatal(err)
	}
	r := replay.New(replay.Config{})
	whole := 0
	for _, record := range log.records {
		m := &eventspb.PacingSignals{}
		if err := proto.Unmarshal(record.value, m); err != nil {
			t.Fatal(err)
		}
		if len(record.value) > 1<<20-10_000 { // what a topic takes by default, with room for the writer
			t.Errorf("a record of %d bytes", len(record.value))
		}
		for _, part := range m.GetTicks() {
			ok, err := r.Add(part)
			if err != nil {
				t.Fatal(err)
			}
			if ok {
				whole++
			}
		}
	}
	if len(log.records) < 2 || whole != 1 || len(r.Nodes) != nodes {
		t.Errorf("%d records, %d ticks, %d nodes", len(log.records), whole, len(r.Nodes))
	}
}
