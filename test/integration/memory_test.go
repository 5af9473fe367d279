package integration

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/weirhq/weir/internal/testlimit"
)

// overhead is the memory of a process beyond its budget: the program itself, stacks, free memory
// of the allocators, and the event ids of this test, 1.1 or 2.1 million at up to 21 bytes. The peak
// was 370 to 400 MiB in five usual runs.
const overhead = 160 << 20

// TestMemoryBudget counts a million events of half a million campaigns, half of which wait before
// the start, with a budget of 256 MiB, which cannot hold all campaigns. Then it kills the process
// three times and logs the time to the first new record, and once more with an empty directory. It
// checks memory and that the process recovers, not exactness. A soak doubles load and budget.
func TestMemoryBudget(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads the process's memory from /proc")
	}
	c := shared(t)
	campaigns, budget := soak(500_000, 1_000_000), soak(256, 512)
	memory := fmt.Sprintf("memory: %dMiB", budget)
	f := follow(c)
	produceMillions(c, campaigns, campaigns)
	a := newInstance(c, "a", memory, longSession)
	p := a.start()
	p.ready()
	produceMillions(c, campaigns, campaigns)
	f.caughtUp(c)
	peak := p.memory("VmHWM")
	t.Logf("counting: %d MiB at the peak, %d MiB now", peak>>20, p.memory("VmRSS")>>20)
	p = restarts(c, f, p)
	peak = max(peak, p.memory("VmHWM"))

	p.kill()
	c.expel(p)
	b := newInstance(c, "b", memory)
	p = b.start()
	p.ready()
	produceMillions(c, campaigns, 100_000)
	f.caughtUp(c)
	rebuilt := p.memory("VmHWM")
	t.Logf("rebuilding: %d MiB at the peak, %d MiB now", rebuilt>>20, p.memory("VmRSS")>>20)
	if most := max(peak, rebuilt); most > budget<<20+overhead {
		t.Errorf("%d MiB at the peak, want %d at most", most>>20, (budget<<20+overhead)>>20)
	}
}

// restarts kills a process three times under a low load. A restart under the same name waits for no
// session timeout.
func restarts(c *cluster, f *follower, p *process) *process {
	t := c.t
	l := startLoad(c, 5, 2_000, 1)
	var back []time.Duration
	for range 3 {
		f.caughtUp(c)
		killed := time.Now()
		p.kill()
		p = p.instance.start()
		testlimit.Within(t, "a new record", func(context.Context) error {
			list := f.takeovers(p.name, killed)
			if len(list) == 0 {
				return errors.New("no new record")
			}
			back = append(back, list[0].appliedAt.Sub(killed))
			return nil
		})
		p.ready()
	}
	l.finish()
	slices.Sort(back)
	t.Logf("kill -9 to the first new record: %s", back)
	return p
}
