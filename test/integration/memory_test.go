package integration

import (
	"runtime"
	"testing"
	"time"
)

// overhead is what a process takes beside its budget: the program itself, stacks, what the allocators hold back, and the event
// ids of this test, 2.1 million at 21 bytes at most.
const overhead = 128 << 20

// TestMemoryBudget counts two million events of a million campaigns half of which wait for it, with a
// budget of 512 MiB, in which not all of the campaigns fit; and comes back from kill -9 with an empty directory.
func TestMemoryBudget(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads the process's memory from /proc")
	}
	c := shared(t)
	f := follow(c)
	produceMillions(c, 1_000_000)
	a := newInstance(c, "a", "memory: 512MiB")
	p := a.start()
	p.ready(time.Minute)
	produceMillions(c, 1_000_000)
	f.caughtUp(c, 3*time.Minute)
	peak := p.memory("VmHWM")
	t.Logf("counting: %d MiB at the peak, %d MiB now", peak>>20, p.memory("VmRSS")>>20)
	p.kill()
	b := newInstance(c, "b", "memory: 512MiB")
	p = b.start()
	p.ready(time.Minute)
	produceMillions(c, 100_000)
	f.caughtUp(c, time.Minute)
	rebuilt := p.memory("VmHWM")
	t.Logf("rebuilding: %d MiB at the peak, %d MiB now", rebuilt>>20, p.memory("VmRSS")>>20)
	if most := max(peak, rebuilt); most > 512<<20+overhead {
		t.Errorf("%d MiB at the peak, want %d at most", most>>20, (512<<20+overhead)>>20)
	}
}
