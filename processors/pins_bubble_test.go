//go:build synctests

package processors_test

import (
	"testing"
	"time"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/processorstest"
)

// TestPins: a process gets the partitions that are pinned to it within ten seconds, also if it
// alone knows the pins. They return when the pins end, or are withdrawn, or the process dies.
func TestPins(t *testing.T) {
	runLedger(t, 4, func(t *testing.T, h *processorstest.Harness) {
		ofA, ofB := &processors.Pins{}, &processors.Pins{}
		start := func(name string, pins *processors.Pins) *processorstest.Process {
			return h.StartWith(name, processors.Config{Workers: 2, Pins: pins}, ledgerOptions(4).Processor)
		}
		a := start("a", ofA)
		b := start("b", ofB)
		balanced := func() bool { return len(running(a)) == 2 && len(running(b)) == 2 }
		h.WaitFor("each process runs two partitions", time.Minute, balanced)
		know := []*processors.Pins{ofB}
		pin := func(to string, lasts time.Duration) {
			for _, pins := range know {
				for p := range int32(4) {
					pins.Set(processors.Pin{Partition: p, Instance: to, At: time.Now(), Until: time.Now().Add(lasts)})
				}
			}
		}
		const soon = 10 * time.Second
		pin("b", time.Minute)
		h.WaitFor("the process runs what is pinned to it", soon, func() bool { return len(running(b)) == 4 })
		h.WaitFor("the pins have ended", time.Minute+soon, balanced)

		pin("b", time.Hour)
		h.WaitFor("the process runs what is pinned to it again", soon, func() bool { return len(running(b)) == 4 })
		pin("c", time.Hour)
		h.WaitFor("pins to a process that is away have no effect", soon, balanced)
		know = append(know, ofA)
		pin("a", time.Hour)
		h.WaitFor("the other process runs what is pinned to it", soon, func() bool { return len(running(a)) == 4 })
		pin("a", 0)
		h.WaitFor("the pins are withdrawn", soon, balanced)

		pin("b", time.Hour)
		h.WaitFor("the process runs what is pinned to it once more", soon, func() bool { return len(running(b)) == 4 })
		b.Kill()
		h.WaitFor("the process has died", soon, func() bool { return len(running(a)) == 4 })
		b = start("b", ofB)
		h.WaitFor("the process that comes back runs what is pinned to it", 2*soon, func() bool { return len(running(b)) == 4 })
	})
}
