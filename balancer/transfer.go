package balancer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/balancer/balancerpb"
	"github.com/weirhq/weir/events/eventspb"
)

// kindTransfer is LeaseResult.kind of a transfer's result.
const kindTransfer = "transfer"

// transfer is a commanded transfer whose change was not seen yet.
type transfer struct {
	id       string
	from, to int   // indices of regions; -1 if no longer declared
	version  int64 // of the resource in the command
	sinceMs  int64 // time of the command, Unix ms; 0 if unknown
	untilMs  int64 // time at which it is given up, Unix ms
	failed   bool  // refused; the resource is excluded until untilMs, as its row is stale
	changed  bool  // differs from the committed row
}

// startTransfer records a transfer and counts it.
func (b *Balancer) startTransfer(p *pool, resource string, f *transfer) {
	f.id = transferID(p, resource, f, b.cfg.Regions[f.to])
	f.changed = true
	p.transfers[resource] = f
	p.regions[f.from].outbound++
	p.regions[f.to].inTransit++
	b.pendingBytes += len(p.key) + len(resource) + 80
}

// transferID returns the id of a transfer. Other regions, another version or another attempt give
// another id.
func transferID(p *pool, resource string, f *transfer, to string) string {
	h := xxhash.Sum64String(joinNames(p.key, resource, to, fmt.Sprint(f.version)))
	return fmt.Sprintf("transfer-%016x-%x", h, f.untilMs)
}

// completeTransfer removes a transfer.
func (b *Balancer) completeTransfer(p *pool, resource string, f *transfer) {
	b.uncountTransfer(p, f)
	if f.failed && f.from >= 0 {
		p.regions[f.from].excluded--
	}
	delete(p.transfers, resource)
	b.endedTransfers = append(b.endedTransfers, joinNames(p.key, resource))
	b.pendingBytes += len(p.key) + len(resource)
}

// uncountTransfer removes a transfer from the counts of what is in transit.
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

// failTransfer records that a transfer was refused.
func (b *Balancer) failTransfer(p *pool, f *transfer) {
	b.uncountTransfer(p, f)
	f.failed, f.changed = true, true
	b.stats.Refused++
	if f.from >= 0 {
		p.regions[f.from].excluded++
	}
}

// earlyRetry is how long a resource is excluded whose transfer was refused because the resource was
// not available yet.
const earlyRetry = 5 * time.Second

// foldResult applies the result of a command. If the command was carried out, the change of the row
// arrives through lease.changes.
func (b *Balancer) foldResult(m *eventspb.LeaseResult) error {
	p := b.pools[joinNames(m.Client, m.Pool)]
	if p == nil || m.Kind != kindTransfer {
		return nil
	}
	done := m.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_DONE
	switch f := p.transfers[m.Resource]; {
	case f == nil || f.id != m.Id || f.failed: // of another transfer, or an ended one
	case done:
		f.untilMs, f.changed = max(f.untilMs, min(m.DoneMs, f.untilMs+60_000)+10*60_000), true
		b.pendingBytes += len(m.Resource) + 80
	default:
		if b.failTransfer(p, f); m.Outcome == eventspb.LeaseOutcome_LEASE_OUTCOME_EARLY { // the executor's clock is behind: retry soon
			f.untilMs = min(f.untilMs, m.DoneMs+earlyRetry.Milliseconds())
		}
		b.pendingBytes += len(m.Resource) + 80
	}
	if done || m.Version <= 0 {
		return nil
	}
	return b.markOutdated(p, m.Resource, m.Version)
}

// endOvertaken ends the transfer of a resource whose row has a newer version than the command.
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

// expireTransfers gives up the transfers whose timeout has passed.
func (b *Balancer) expireTransfers(p *pool, nowMs int64) {
	for resource, f := range p.transfers {
		if nowMs > f.untilMs {
			if !f.failed {
				b.stats.Expired++
			}
			b.completeTransfer(p, resource, f)
		}
	}
}

func (b *Balancer) loadTransfer(key string, value []byte) error {
	parts := strings.SplitN(key, "\x00", 3)
	m := &balancerpb.Transfer{}
	if err := proto.Unmarshal(value, m); err != nil {
		return err
	}
	if len(parts) < 3 {
		return errors.New("the key is not client, pool and resource")
	}
	f := &transfer{
		id: m.Id, from: b.region(m.From), to: b.region(m.To), version: m.Version, sinceMs: m.SinceMs, untilMs: m.UntilMs, failed: m.Failed,
	}
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

// freePrefix returns the prefix of the keys of a pool's available resources in a region.
func freePrefix(pool, region string) []byte { return []byte(joinNames(pool, region, "")) }

// freeAt decodes the rest of such a key.
func freeAt(key []byte) (availableMs int64, resource string, ok bool) {
	if len(key) < 8 {
		return 0, "", false
	}
	return int64(binary.BigEndian.Uint64(key)), string(key[8:]), true
}
