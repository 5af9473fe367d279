package sim

import (
	"math/rand/v2"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
)

// bridge is a model of package bridge. It copies a region's stream into lease.changes, the records
// of each row in order, without records that another region wrote. It writes the region's
// heartbeats.
type bridge struct {
	w    *simulation
	r    *region
	rng  *rand.Rand
	next [shardCount]int
	lag  int64
}

func (w *simulation) newBridge(i int) *bridge {
	b := &bridge{w: w, r: w.regions[i], rng: w.newRand("bridge" + regionNames[i])}
	w.each(b.rng, 100, 200, b.poll)
	w.each(b.rng, 1000, 0, b.heartbeat)
	w.each(b.rng, 9000, 6000, b.scan)
	return b
}

func (b *bridge) heartbeat() {
	if !b.w.faults.off[b.r.id] {
		b.r.put(b.w.heartbeatRow(b.r.id), item{count: b.r.clock()})
	}
}

// poll copies the records that the stream has by now.
func (b *bridge) poll() {
	if b.w.faults.cut(b.r.id) {
		return
	}
	b.lag = b.rng.Int64N(200)
	for s := range b.r.shards {
		if s == 0 && b.w.faults.on(StallShard, b.r.id) {
			continue
		}
		for n := b.next[s]; n < len(b.r.shards[s]) && b.r.shards[s][n].at+b.lag <= b.w.now; n++ {
			b.next[s] = n + 1
			if b.w.faults.on(LoseRecord, b.r.id) && b.rng.IntN(3) == 0 {
				b.w.h.mark("lost record")
				continue
			}
			b.emit(&b.r.shards[s][n], false)
		}
	}
}

// replay moves back in the stream.
func (b *bridge) replay() {
	for s := range b.next {
		b.next[s] = max(0, b.next[s]-b.rng.IntN(40))
	}
	b.w.h.mark("replay")
	b.w.transcribe("bridge "+b.r.name, "reads old records again")
}

// scan emits all rows that this region wrote.
func (b *bridge) scan() {
	if b.w.faults.cut(b.r.id) || b.w.mutation == "bridge drops records" {
		return
	}
	for id := range b.r.items {
		it := &b.r.items[id]
		if it.seq > 0 && it.writer == b.r.id {
			b.emit(&streamed{b.w.now, rowID(id), *it}, true)
		}
	}
}

// emit writes an item to lease.changes. Items of other regions are left out, except for their
// heartbeats, which show the replication lag.
func (b *bridge) emit(s *streamed, scanned bool) {
	if b.dropsRecord(s) {
		return
	}
	it := &s.item
	c := &eventspb.LeaseChange{Region: b.r.name, Client: client, Pool: pool, AtMs: it.stamp, Scanned: scanned}
	if scanned {
		c.AtMs = b.r.clock()
	}
	w := b.w
	if s.id >= w.homeRow() {
		return
	}
	switch heartbeat := s.id >= w.heartbeatRow(0) && s.id < w.demandRow(0); {
	case heartbeat && scanned:
		return
	case heartbeat:
		c.Row = &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{
			From: regionNames[s.id-w.heartbeatRow(0)], WrittenMs: it.count, SeenMs: b.r.clock(), LagMs: b.backlog(),
		}}
	case it.writer != b.r.id:
		return
	case w.isResource(s.id):
		c.Row = &eventspb.LeaseChange_Resource{Resource: &eventspb.LeaseResource{
			Resource: resourceName(int(s.id)), Version: it.Version, Owner: it.Owner, Holder: it.Holder, ExpiresMs: it.Expires,
			AvailableMs: it.Available,
		}}
	case w.isLease(s.id):
		k, r := w.keyOf(s.id)
		c.Row = keyChange(keyName(k), regionNames[r], &it.Row, it.granted)
	case s.id == w.poolRow():
		c.Row = &eventspb.LeaseChange_Settings{Settings: &eventspb.LeasePool{
			Version: it.settings.version, LongestLeaseMs: w.s.longest(), QuarantineMs: it.settings.quarantine, Buckets: it.settings.buckets,
			Duplicates: w.s.Mode,
		}}
	case s.id < w.heartbeatRow(0):
		c.Row = &eventspb.LeaseChange_RegionRow{RegionRow: &eventspb.LeaseRegion{
			Region: regionNames[s.id-w.regionRow(0)], Version: it.settings.version, State: it.settings.state,
		}}
	default:
		c.Row = &eventspb.LeaseChange_Demand{Demand: &eventspb.LeaseDemand{Region: regionNames[s.id-w.demandRow(0)], Refused: it.count}}
	}
	value, err := proto.MarshalOptions{Deterministic: true}.Marshal(c)
	if err != nil {
		w.h.fail(err)
		return
	}
	w.topics.changes = append(w.topics.changes, record{value, w.now})
}

func keyChange(key, region string, row *lease.Row, granted int64) *eventspb.LeaseChange_Key {
	return &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{
		Key: key, Region: region, Version: row.Version, State: string(row.State), Resource: row.Resource,
		ResourceVersion: row.ResourceVersion, ExpiresMs: row.Expires, GrantedMs: granted, Winner: row.Winner,
	}}
}

// backlog returns the age of the oldest unread record.
func (b *bridge) backlog() (ms int64) {
	for s, n := range b.next {
		if n < len(b.r.shards[s]) {
			ms = max(ms, b.w.now-b.r.shards[s][n].at-b.lag)
		}
	}
	return max(0, ms)
}
