package balancer

import (
	"math/rand/v2"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

// reader makes numbers from fuzzed bytes; 0 at their end.
type reader []byte

func (r *reader) next() byte {
	if len(*r) == 0 {
		return 0
	}
	v := (*r)[0]
	*r = (*r)[1:]
	return v
}

func (r *reader) number() int64 {
	switch v := r.next(); v % 8 {
	case 0:
		return int64(v/8) - 3
	case 1:
		return 1<<62 + int64(v)
	case 2:
		return start + int64(r.next())*10_000
	default:
		return int64(v % 16)
	}
}

func (r *reader) pick(of ...string) string { return of[int(r.next())%len(of)] }

func (r *reader) change() *eventspb.LeaseChange {
	region := func() string { return r.pick("eu", "us", "ap", "us", "eu", "mars", "") }
	c := &eventspb.LeaseChange{
		Region: region(), Client: r.pick("c", "c", "c", "d", "", "a\x00b"), Pool: r.pick("p", "p", "q", "p\x01"), AtMs: start + int64(r.next())*500,
		Scanned: r.next()%8 == 0, Gone: r.next()%16 == 0,
	}
	if r.next()%32 == 0 {
		c.AtMs = r.number()
	}
	switch r.next() % 12 {
	case 0:
		c.Row = &eventspb.LeaseChange_Settings{Settings: &eventspb.LeasePool{
			Version: r.number(), QuarantineMs: r.number(), Floors: map[string]int64{region(): r.number()}, Balance: r.pick("", "on", "off", "?"),
			Forecast: r.pick("", "holt", "seasonal", "?"),
		}}
	case 1:
		c.Row = &eventspb.LeaseChange_Demand{Demand: &eventspb.LeaseDemand{Region: region(), Refused: r.number()}}
	case 2:
		c.Row = &eventspb.LeaseChange_RegionRow{RegionRow: &eventspb.LeaseRegion{
			Region: region(), Version: r.number(), State: r.pick("", "active", "evacuating", "adopted", "?"), SwingTo: region(), SwingPercent: int32(r.number()),
		}}
	case 3:
		c.Row = &eventspb.LeaseChange_Heartbeat{Heartbeat: &eventspb.LeaseHeartbeat{From: region(), WrittenMs: r.number(), SeenMs: r.number(), LagMs: r.number()}}
	case 4:
		c.Row = &eventspb.LeaseChange_Key{Key: &eventspb.LeaseKey{}}
	case 5: // none
	default:
		m := &eventspb.LeaseResource{Resource: r.pick("a", "b", "c", "d", "e", ""), Version: r.number(), Owner: region()}
		switch r.next() % 8 {
		case 0:
			m.AvailableMs, m.Holder, m.ExpiresMs = r.number(), r.pick("", "p#k"), r.number()
		case 1:
		case 2, 3:
			m.Holder, m.ExpiresMs = r.pick("p#k", "p#l"), start+int64(r.next())*10_000
		default:
			m.AvailableMs = start - 100_000 + int64(r.next())*1000
		}
		c.Row = &eventspb.LeaseChange_Resource{Resource: m}
	}
	return c
}

// For all inputs, Fold and Flush succeed and the counts are those of a recount.
func FuzzFold(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 40 {
		seed := make([]byte, 2000)
		for i := range seed {
			seed[i] = byte(rng.Uint32())
		}
		f.Add(seed)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, w := reader(data), newHarness(t, Config{Regions: regions3})
		for n := 0; len(r) > 0 && n < 400; n++ {
			switch op := r.next(); {
			case op < 8:
				k := min(len(r), int(op)*4)
				w.foldValues("lease.changes", r[:k])
				w.foldValues("lease.results", r[:k])
				r = r[k:]
			case op < 30:
				w.heartbeats()
				w.pass(int64(r.next()) * 20)
			case op < 34:
				w.crash()
			case op < 50:
				w.answer(&r)
			default:
				w.fold(r.change())
			}
		}
		if err := w.audit(); err != nil {
			t.Fatal(err)
		}
		w.pass(2000)
		if err := w.audit(); err != nil {
			t.Fatal(err)
		}
		if err := w.same(); err != nil {
			t.Fatal(err)
		}
	})
}

// answer folds a result of a recent command.
func (r *harness) answer(from *reader) {
	list, _, _ := r.commands()
	if len(list) == 0 {
		return
	}
	c := list[int(from.next())%len(list)]
	v, err := proto.Marshal(&eventspb.LeaseResult{
		Id: c.Id, Client: c.Client, Pool: c.Pool, Region: c.Region, Kind: "transfer", Resource: c.GetTransfer().Resource,
		Outcome: eventspb.LeaseOutcome(from.next() % 8), DoneMs: from.number(), Version: from.number(),
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.foldValues("lease.results", v)
}
