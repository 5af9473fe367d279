package sim

import (
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer"
	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/dedup"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/command"
	"github.com/weirhq/weir/liberator"
	"github.com/weirhq/weir/stream"
)

// Settings of the cores: as in production, with shorter times.
const (
	firstRetry     = 2000
	maxRetry       = 8000
	balancerTakes  = 5000 // the executor's limit for a transfer
	freeGrain      = 2000 // granularity of the balancer's count of free resources
	tableTransfers = balancer.TableTransfers
)

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (w *simulation) newTasks() []*task {
	output := func(region string) (string, bool) {
		i := regionNumber(region)
		return events.LeaseCommandsTopic(region), i >= 0 && i < w.s.Regions
	}
	list := []*task{
		{name: "liberator", make: func(t stream.Task) (core, error) {
			return liberator.New(liberator.Config{Output: output, Skew: ms(w.s.Skew), Retry: ms(firstRetry), MaxRetry: ms(maxRetry)}, t)
		}},
		{name: "dedup", make: func(t stream.Task) (core, error) {
			if w.mutation == "dedup prefers the last lease" {
				return &lastWins{output: output}, nil
			}
			return dedup.New(
				dedup.Config{Output: output, Skew: ms(w.s.Skew), Margin: 20 * time.Second, Retry: ms(firstRetry), MaxRetry: ms(maxRetry)},
				t)
		}},
		{name: "balancer", make: func(t stream.Task) (core, error) {
			return balancer.New(balancer.Config{
				Regions: regionNames[:w.s.Regions], PlanInterval: 3 * time.Second, TickInterval: time.Second,
				HeartbeatTimeout: 4 * time.Second, TransferTimeout: ms(balancerTakes),
				Limits: plan.Limits{DeadBand: 1, Cover: 20 * time.Second, LowWater: 5 * time.Second, MaxLag: 3 * time.Second},
			}, t)
		}},
	}
	for _, t := range list {
		t.w, t.rng, t.emit = w, w.newRand(t.name), func(c *stream.Change) { w.produce(t, c) }
		t.inputs = []input{{name: events.LeaseChangesTopic, of: &w.topics.changes}}
		if t.name == "balancer" {
			t.inputs = append(t.inputs, input{name: events.LeaseResultsTopic, of: &w.topics.results})
		}
		if w.mutation != "pool has no liberator" || t.name != "liberator" {
			t.start()
		}
	}
	return list
}

// produce handles a record that a core wrote.
func (w *simulation) produce(t *task, c *stream.Change) {
	switch c.Output() {
	case events.LeaseHeadroomTopic:
		h := &eventspb.LeaseHeadroom{}
		if err := proto.Unmarshal(c.Value, h); err != nil {
			w.h.fail(err)
			return
		}
		if w.h.Headroom == nil {
			w.h.Headroom = map[string]*eventspb.LeaseHeadroom{}
		}
		w.h.Headroom[h.Region] = h
	case events.LeaseDuplicatesTopic:
		d := &eventspb.LeaseDuplicate{}
		if err := proto.Unmarshal(c.Value, d); err != nil {
			w.h.fail(err)
			return
		}
		if w.h.Duplicates == nil {
			w.h.Duplicates = map[string]string{}
		}
		w.h.Duplicates[string(c.Key)] = d.State
		w.h.mark("duplicate")
		w.transcribe(t.name, "%s is %s: %s wins", d.Key, d.State, d.Winner)
	case events.LeaseJournalTopic:
		if w.transcript != nil {
			n := &eventspb.LeaseJournalEntry{}
			if proto.Unmarshal(c.Value, n) == nil {
				w.transcribe(t.name, "%s", n.Text)
			}
		}
	default:
		w.command(t, c)
	}
}

func (w *simulation) command(t *task, c *stream.Change) {
	m := &eventspb.LeaseCommand{}
	if err := proto.Unmarshal(c.Value, m); err != nil {
		w.h.fail(err)
		return
	}
	if m.GetHeadroom() != nil {
		return // the model has no use for headroom commands
	}
	if w.mutation == "liberator ignores the quarantine" && m.GetLiberate() != nil {
		m.GetLiberate().AvailableMs = m.GetLiberate().ExpiresMs
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		w.h.fail(err)
		return
	}
	region := regionNumber(strings.TrimPrefix(c.Output(), events.LeaseCommandsTopic("")))
	w.topics.commands[region] = append(w.topics.commands[region], record{value, w.now})
	w.h.Commands = append(w.h.Commands, Command{At: w.now, Region: region, Is: m})
	if w.transcript != nil {
		w.transcribe(t.name, "commands %s: %s", regionNames[region], commandText(m))
	}
}

func commandText(m *eventspb.LeaseCommand) string {
	o := command.TargetOf(m)
	switch {
	case m.GetLiberate() != nil:
		l := m.GetLiberate()
		return fmt.Sprintf("liberate %s at version %d, available from %s: %s", o.Resource, l.Version, clock(l.AvailableMs-epoch), m.Why)
	case m.GetTransfer() != nil:
		return fmt.Sprintf("transfer %s at version %d to %s (%s)", o.Resource, m.GetTransfer().Version, m.GetTransfer().To, m.Id)
	case m.GetSupersede() != nil:
		return fmt.Sprintf("supersede %s@%s at version %d, which leases %s: %s", o.Key, m.Region, m.GetSupersede().Version, o.Resource,
			m.Why)
	case m.GetRevoke() != nil:
		return fmt.Sprintf("revoke %s at version %d from %s: %s", o.Resource, m.GetRevoke().Version, o.Key, m.Why)
	}
	return o.Kind
}
