package balancer

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// takePublished returns the headroom that was published since the last call: by region, in the
// topic (tombstones as nil) and in the table.
func (r *harness) takePublished() (topic map[string][]*eventspb.LeaseHeadroom, table map[string][]*eventspb.LeaseHeadroom) {
	topic, table = map[string][]*eventspb.LeaseHeadroom{}, map[string][]*eventspb.LeaseHeadroom{}
	for _, c := range r.out {
		region := string(c.Key)[strings.LastIndex(string(c.Key), "\x00")+1:]
		m := &eventspb.LeaseCommand{}
		switch {
		case c.Output() == events.LeaseHeadroomTopic && c.Value == nil:
			topic[region] = append(topic[region], nil)
		case c.Output() == events.LeaseHeadroomTopic:
			h := &eventspb.LeaseHeadroom{}
			if err := proto.Unmarshal(c.Value, h); err != nil {
				r.t.Fatal(err)
			}
			topic[region] = append(topic[region], h)
		case isCommand(c.Output()):
			if err := proto.Unmarshal(c.Value, m); err != nil {
				r.t.Fatal(err)
			}
			if h := m.GetHeadroom(); h != nil {
				table[m.Region] = append(table[m.Region], h)
			}
		}
	}
	r.out = nil
	return topic, table
}

// The headroom of a pool without new leases is published rarely, also while its forecast decays,
// but before agents take the last one for stale. For a silent region nothing is written to the
// table, and little is published.
func TestIdlePoolIsPublishedSeldom(t *testing.T) {
	w := newFixture(t, 10)
	w.stock("eu", 300)
	w.commit()
	for range 60 {
		w.heartbeats()
		w.take("eu", 3, 30_000)
		w.live()
		w.pass(1000)
	}
	for range 3600 { // the forecast decays
		w.heartbeats()
		w.live()
		w.pass(1000)
	}
	w.takePublished()
	last := w.nowMs
	for range 3600 {
		w.heartbeats()
		w.pass(1000)
	}
	topic, table := w.takePublished()
	for _, region := range regions3 {
		if n, m := len(topic[region]), len(table[region]); n > 24 || m > 24 || m < 10 {
			t.Errorf("in an hour without leases %s is published %d times and written %d times", region, n, m)
		}
		at := last
		for _, h := range table[region] {
			if at > last && h.AsOfMs-at > 5*60_000+2000 {
				t.Errorf("%s: the row is %d ms old", region, h.AsOfMs-at)
			}
			at = h.AsOfMs
		}
	}
	for range 3600 {
		w.nowMs += 1000
		for _, at := range []string{"us", "ap"} { // their heartbeats do not include eu
			for _, from := range []string{"us", "ap"} {
				w.fold(&eventspb.LeaseChange{Region: at, AtMs: w.nowMs, Row: &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{From: from, WrittenMs: w.nowMs - 100, SeenMs: w.nowMs}}})
			}
		}
		w.commit()
	}
	topic, table = w.takePublished()
	if n, m := len(topic["eu"]), len(table["eu"]); n > 40 || m > 3 {
		t.Errorf("an hour of silence: published %d times, written %d times", n, m)
	}
}

func (w *fixture) setting(version int64, gone bool) {
	w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Gone: gone, Row: &eventspb.LeaseChange_Settings{
		Settings: &eventspb.LeasePool{Version: version, Buckets: 10, QuarantineMs: 1000},
	}})
}

// keys returns how many rows of a pool the store has.
func (w *fixture) keys(pool string) (n int) {
	for k := range w.store {
		if k[1:] == pool || strings.HasPrefix(k[1:], pool+"\x00") {
			n++
		}
	}
	return n
}

// The headroom of a deleted pool is retracted when its resources are in another pool or retired.
// The pool is forgotten when no resource is left.
func TestDeletedPool(t *testing.T) {
	w := newFixture(t, 11)
	w.setting(1, false)
	w.stock("eu", 7000)
	w.stock("us", 3)
	for range 10 {
		w.heartbeats()
		w.take("eu", 5, 5_000)
		w.live()
		w.pass(1000)
	}
	for range 20 {
		w.live()
		w.pass(1000)
	}
	for i, name := range w.names {
		m := w.rows[name]
		m.Version++
		if m.AvailableMs = 0; i == 5 {
			w.fold(w.change("p", m)) // retired
			continue
		}
		c := w.change("p", m)
		c.Gone = true
		w.fold(c)
	}
	w.takePublished()
	w.setting(2, true)
	for range 50 {
		w.heartbeats()
		w.pass(1000)
	}
	if _, table := w.takePublished(); len(table["eu"]) == 0 || table["eu"][len(table["eu"])-1].Free > 0 {
		t.Errorf("the table has %v, want an empty headroom", table["eu"])
	}
	for range 60 {
		w.heartbeats()
		w.pass(1000)
	}
	topic, table := w.takePublished()
	for _, region := range regions3 {
		if list := topic[region]; len(list) != 1 || list[0] != nil {
			t.Errorf("%s: published %v, want a tombstone", region, list)
		}
		if len(table[region]) > 0 {
			t.Errorf("%s: written %v", region, table[region])
		}
	}
	w.crash()
	if err := w.audit(); err != nil || w.keys("c\x00p") < 7000 {
		t.Errorf("%d rows are left while one resource is retired, %v", w.keys("c\x00p"), err)
	}
	m := w.rows[w.names[5]] // the retired one moves, too
	m.Version++
	c := w.change("p", m)
	c.Gone = true
	w.fold(c)
	for range 100 {
		w.heartbeats()
		w.pass(1000)
	}
	if topic, _ := w.takePublished(); len(topic) > 0 {
		t.Errorf("published again: %v", topic)
	}
	if n := w.keys("c\x00p"); n > 0 || len(w.b.pools) > 0 || len(w.b.order) > 0 {
		t.Errorf("%d rows are left, %d pools", n, len(w.b.order))
	}
	if err := w.same(); err != nil {
		t.Error(err)
	}
	// The pool is added again, with one of the resources.
	w.setting(1_000_000, false)
	m.AvailableMs = w.nowMs
	w.write(m)
	w.heartbeats()
	w.pass(2000)
	if topic, _ := w.takePublished(); len(topic["eu"]) != 1 || topic["eu"][0].GetFree() != 1 {
		t.Errorf("added again: %v", topic["eu"])
	}
	if err := w.audit(); err != nil {
		t.Error(err)
	}
}

// A pool without resources stays as long as it has settings; a pool without settings stays as long
// as it has resources.
func TestPoolThatIsNotOver(t *testing.T) {
	for name, of := range map[string]func(w *fixture){
		"settings":  func(w *fixture) { w.setting(1, false) },
		"resources": func(w *fixture) { w.stock("us", 1) },
		"a lease":   func(w *fixture) { w.stock("us", 1); w.take("us", 1, 3_600_000) },
		"to come": func(w *fixture) {
			w.stock("us", 1)
			w.rows["res-0000"].AvailableMs += 3_600_000
			w.write(w.rows["res-0000"])
		},
	} {
		w := newFixture(t, 12)
		of(w)
		for range 200 {
			w.heartbeats()
			w.pass(1000)
		}
		if topic, _ := w.takePublished(); len(w.b.order) != 1 || len(topic["us"]) == 0 || topic["us"][len(topic["us"])-1] == nil {
			t.Errorf("%s: the pool was forgotten", name)
		}
	}
}

// A pool without settings whose resources all belong to a region that is not declared for a while
// is not forgotten: when the region is declared again the resources are known, and none is
// commanded at an old version.
func TestPoolOfUndeclaredRegion(t *testing.T) {
	w := newFixture(t, 9)
	w.pace = 1 << 30
	w.stock("us", 100)
	w.commit()
	w.pass(1000)
	w.cfg.Regions = []string{"eu", "ap"}
	w.crash()
	for range 100 {
		w.pass(1000)
	}
	w.cfg.Regions = regions3
	w.crash()
	w.setting(1, false)
	for _, name := range w.names {
		m := w.rows[name]
		m.AvailableMs = w.nowMs
		w.write(m)
	}
	w.commit()
	commands := 0
	for i := range 120 {
		w.heartbeats()
		w.fold(&eventspb.LeaseChange{Region: "eu", Client: "c", Pool: "p", AtMs: w.nowMs, Row: &eventspb.LeaseChange_Demand{
			Demand: &eventspb.LeaseDemand{Region: "eu", Refused: int64(i)},
		}})
		list, _, _ := w.commands()
		for _, c := range list {
			if x := c.GetTransfer(); x != nil {
				if commands++; x.Version < w.rows[x.Resource].Version {
					t.Fatalf("%s is commanded at version %d, it is at %d", x.Resource, x.Version, w.rows[x.Resource].Version)
				}
			}
			w.execute(c)
		}
		w.pass(1000)
	}
	if err := w.audit(); err != nil || commands == 0 {
		t.Errorf("%d commands; %v", commands, err)
	}
}
