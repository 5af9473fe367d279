//go:build synctests

package processors

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestPinsWatch: a process asks for a plan when a pin that names it begins, ends, is replaced or
// withdrawn, and once more each time. A process that starts asks if such a pin has ended lately.
// Other pins are not its business.
func TestPinsWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pins, asked := &Pins{}, atomic.Int32{}
		set := func(to string, begin, end time.Duration) {
			now := time.Now()
			pins.Set(Pin{Partition: 1, Instance: to, At: now.Add(begin), Until: now.Add(end)})
		}
		watch := func() (stop func()) {
			asked.Store(0)
			ctx, cancel := context.WithCancel(t.Context())
			go pins.watch(ctx, "a", func() { asked.Add(1) })
			return cancel
		}
		expect := func(what string, want int32) {
			t.Helper()
			<-time.After(20 * time.Second)
			synctest.Wait()
			if n := asked.Swap(0); n != want {
				t.Errorf("%s: asked %d times, want %d", what, n, want)
			}
		}
		stop := watch()
		expect("no pin", 0)
		set("a", 0, 45*time.Second)
		expect("a pin begins", 2)
		expect("it goes on", 0)
		expect("it has ended", 2)
		expect("it ended long ago", 0)
		set("b", 0, time.Minute)
		expect("a pin of another process", 0)
		set("a", -time.Hour, time.Hour) // by a clock that is behind
		expect("it is replaced", 2)
		set("a", 0, 0)
		expect("it is withdrawn", 2)
		set("a", 0, time.Hour)
		set("b", 0, time.Hour)
		expect("a pin that another one has replaced at once", 0)
		set("a", 0, time.Hour)
		expect("the pin is back", 2)
		set("b", 0, time.Hour)
		expect("another one replaces it", 2)
		stop()

		set("a", -time.Minute, -30*time.Second)
		stop = watch()
		expect("a pin ended before the start", 2)
		stop()
		<-time.After(2 * time.Minute)
		stop = watch()
		expect("a pin ended long before the start", 0)
		stop()
	})
}

// TestPinsPublish: a pin is published until no member can know one before it, in the order of the
// partitions, with a time after that of the one before.
func TestPinsPublish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var pins Pins
		now := time.Now()
		pins.Set(Pin{Partition: 2, Instance: "a", At: now, Until: now.Add(time.Hour)})
		pins.Set(Pin{Partition: 1, Instance: "a", At: now, Until: now.Add(time.Hour)})
		pins.Set(Pin{Partition: 2, Instance: "b", At: now.Add(-time.Second), Until: now.Add(time.Minute)})
		<-time.After(30 * time.Minute)
		list := pins.metadata()
		if len(list) != 2 || list[0].Partition != 1 || list[1].Instance != "b" || list[1].AtMs != now.UnixMilli()+1 {
			t.Errorf("published %v", list)
		}
		<-time.After(time.Hour)
		if list := pins.metadata(); len(list) != 0 {
			t.Errorf("published %v", list)
		}
		if list := (*Pins)(nil).metadata(); list != nil {
			t.Errorf("published %v", list)
		}
	})
}
