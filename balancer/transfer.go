package balancer

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// kindTransfer is LeaseResult.kind of a transfer's result.
const kindTransfer = "transfer"

// transfer is a transfer that was commanded and of which no change was seen yet.
type transfer struct {
	id       string
	from, to int   // regions; -1: not declared any more
	version  int64 // of the resource when it was decided
	sinceMs  int64 // when it was commanded; 0: not known
	untilMs  int64 // when it is given up
	failed   bool  // it will not come; the resource is left alone until then, as what we know of it is old
	changed  bool
}

// startTransfer puts a resource in flight.
func (b *Balancer) startTransfer(p *pool, resource string, f *transfer) {
	f.id = transferID(p, resource, f, b.cfg.Regions[f.to])
	f.changed = true
	p.transfers[resource] = f
	p.regions[f.from].outbound++
	p.regions[f.to].inTransit++
	b.pendingBytes += len(p.key) + len(resource) + 80
}

// transferID names a transfer: other regions, another version or another try are another one.
func transferID(p *pool, resource string, f *transfer, to string) string {
	h := xxhash.Sum64String(joinNames(p.key, resource, to, fmt.Sprint(f.version)))
	return fmt.Sprintf("transfer-%016x-%x", h, f.untilMs)
}

// completeTransfer ends a flight.
func (b *Balancer) completeTransfer(p *pool, resource string, f *transfer) {
	b.uncountTransfer(p, f)
	if f.failed && f.from >= 0 {
		p.regions[f.from].excluded--
	}
	delete(p.transfers, resource)
	b.endedTransfers = append(b.endedTransfers, joinNames(p.key, resource))
	b.pendingBytes += len(p.key) + len(resource)
}

// uncountTransfer takes a flight out of the counts of what moves.
func (b *Balancer) uncountTransfer(p *pool, f *transfer) {
	if f.failed {
		return
	}
	if f.from >= 0 {
		p.regions[f.from].outbound--
	}
	if f.to >= 0 {
		p.regions[f.to].inTransit--
	}
}

// failTransfer notes that a flight will not come.
func (b *Balancer) failTransfer(p *pool, f *transfer) {
	b.uncountTransfer(p, f)
	f.failed, f.changed = true, true
	b.stats.Refused++
	if f.from >= 0 {
		p.regions[f.from].excluded++
	}
}

// earlyRetry is how long a resource is left alone of which the executor says that it is not available yet.
const earlyRetry = 5 * time.Second

// foldResult takes what became of a command. If it was carried out, the change comes through the stream.
func (b *Balancer) foldResult(r *stream.Record) (refusal, error) {
	m := &eventspb.LeaseResult{}
	if err := proto.Unmarshal(r.Value, m); err != nil {
		return refusal{ReasonUndecodable, err.Error()}, nil //nolint:nilerr // the record is refused, nothing failed
	}
	p := b.pools[joinNames(m.Client, m.Pool)]
	if p == nil || m.Kind != kindTransfer {
		return refusal{}, nil
	}
	done := m.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE
	switch f := p.transfers[m.Resource]; {
	case f == nil || f.id != m.Id || f.failed: // somebody else's, or over
	case done:
		f.untilMs, f.changed = max(f.untilMs, min(m.DoneMs, f.untilMs+60_000)+10*60_000), true
		b.pendingBytes += len(m.Resource) + 80
	default:
		if b.failTransfer(p, f); m.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY { // the executor's clock is behind: soon it is time
			f.untilMs = min(f.untilMs, m.DoneMs+earlyRetry.Milliseconds())
		}
		b.pendingBytes += len(m.Resource) + 80
	}
	if done || m.Version <= 0 {
		return refusal{}, nil
	}
	return refusal{}, b.markOutdated(p, m.Resource, m.Version)
}

// endOvertaken ends the flight of a resource of which something newer is known than what was commanded.
func (b *Balancer) endOvertaken(p *pool, resource string, f *transfer, arrived bool) {
	switch {
	case f.failed:
	case arrived:
		b.stats.Arrived++
	default:
		b.stats.Overtaken++
	}
	b.completeTransfer(p, resource, f)
}

// expireTransfers gives up the flights whose time is over.
func (b *Balancer) expireTransfers(p *pool, nowMs int64) {
	for resource, f := range p.transfers {
		if nowMs > f.untilMs {
			if !f.failed {
				b.stats.GivenUp++
			}
			b.completeTransfer(p, resource, f)
		}
	}
}

func (b *Balancer) loadTransfer(key string, value []byte) error {
	parts := strings.SplitN(key, "\x00", 3)
	m := &balancerpb.Transfer{}
	if err := proto.Unmarshal(value, m); err != nil || len(parts) < 3 {
		return fmt.Errorf("%w, or its key is", err)
	}
	f := &transfer{id: m.Id, from: b.region(m.From), to: b.region(m.To), version: m.Version, sinceMs: m.SinceMs, untilMs: m.UntilMs, failed: m.Failed}
	p := b.pool(parts[0], parts[1])
	p.transfers[parts[2]] = f
	switch {
	case f.failed && f.from >= 0:
		p.regions[f.from].excluded++
	case !f.failed:
		if f.from >= 0 {
			p.regions[f.from].outbound++
		}
		if f.to >= 0 {
			p.regions[f.to].inTransit++
		}
	}
	return nil
}

func (b *Balancer) transferState(f *transfer) ([]byte, error) {
	m := &balancerpb.Transfer{Id: f.id, Version: f.version, SinceMs: f.sinceMs, UntilMs: f.untilMs, Failed: f.failed}
	if f.from >= 0 {
		m.From = b.cfg.Regions[f.from]
	}
	if f.to >= 0 {
		m.To = b.cfg.Regions[f.to]
	}
	return proto.Marshal(m)
}

// freePrefix begins the keys of a pool's available resources in a region.
func freePrefix(pool, region string) []byte { return []byte(joinNames(pool, region, "")) }

// freeAt reads what is behind the prefix of a free key.
func freeAt(key []byte) (availableMs int64, resource string, ok bool) {
	if len(key) < 8 {
		return 0, "", false
	}
	return int64(binary.BigEndian.Uint64(key)), string(key[8:]), true
}
