package balancer

import (
	"fmt"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/plan"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// command carries out a move: it picks the resources and sends commands to the executor of their
// region.
func (b *Balancer) command(p *pool, m plan.Move, now *tick, budget *int) error {
	from, to := b.region(m.From), b.region(m.To)
	list, err := b.pick(p, from, int(min(m.Count, int64(*budget))), now.ms)
	if err != nil || len(list) == 0 {
		return err
	}
	*budget -= len(list)
	until := now.ms + b.cfg.TransferTimeout.Milliseconds()
	for _, c := range list {
		f := &transfer{from: from, to: to, version: c.version, sinceMs: now.ms, untilMs: until + grace.Milliseconds()}
		b.startTransfer(p, c.resource, f)
		b.send(from, p, &eventspb.LeaseCommand{
			Id: f.id, Client: p.client, Pool: p.name, Region: m.From, By: "balancer", Why: m.Why, DecidedMs: now.ms, NotAfterMs: until,
			Command: &eventspb.LeaseCommand_Transfer{Transfer: &eventspb.LeaseTransfer{
				Resource: c.resource, Version: c.version, To: m.To, Buckets: p.settings.Buckets,
			}},
		})
	}
	b.stats.Moved[MovePath{m.Kind, m.From, m.To}] += int64(len(list))
	text := m.Why
	if n := int64(len(list)); n < m.Count {
		text += fmt.Sprintf(", %d of them at once", n)
	}
	b.note(p,
		&eventspb.LeaseJournalEntry{
			AtMs: now.ms, By: "balancer", Kind: m.Kind, From: m.From, To: m.To, Count: int64(len(list)), Text: text,
		})
	return nil
}

func (b *Balancer) note(p *pool, n *eventspb.LeaseJournalEntry) {
	n.Client, n.Pool = p.client, p.name
	b.emit(events.LeaseJournalTopic, p.key, n)
}

func (b *Balancer) send(region int, p *pool, c *eventspb.LeaseCommand) {
	b.emit(events.LeaseCommandsTopic(b.cfg.Regions[region]), p.key, c)
}

// emit keeps a record for the next Flush.
func (b *Balancer) emit(to, key string, m proto.Message) {
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil { // not reachable: the rules check that names are UTF-8
		_ = b.fail(fmt.Errorf("output %s, key %q: %w", to, key, err))
		return
	}
	b.out = append(b.out, output{to, key, value})
	b.pendingBytes += len(key) + len(value)
}
