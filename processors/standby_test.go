//go:build synctests

package processors_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
)

// fleet is a number of processes with one standby for each partition.
type fleet struct {
	*processorstest.Harness
	t     *testing.T
	names []string
	procs map[string]*processorstest.Process // those that run
}

const fleetPartitions = 12

// runFleet runs f with a fleet of some processes.
func runFleet(t *testing.T, names []string, f func(t *testing.T, c *fleet)) {
	t.Helper()
	runLedger(t, fleetPartitions, func(t *testing.T, h *processorstest.Harness) {
		c := &fleet{Harness: h, t: t, procs: map[string]*processorstest.Process{}}
		for _, name := range names {
			c.add(name, false)
		}
		f(t, c)
	})
}

// add starts a process for the first time.
func (c *fleet) add(name string, remainInGroup bool) {
	c.names = append(c.names, name)
	c.start(name, remainInGroup)
}

func (c *fleet) start(name string, remainInGroup bool) {
	c.procs[name] = c.StartWith(name, processors.Config{Workers: 2, Standbys: 1, RemainInGroup: remainInGroup}, ledger.Processor("in"))
}

func (c *fleet) stop(name string) {
	c.procs[name].Stop()
	delete(c.procs, name)
}

// inState returns the processes that have each partition in a state.
func (c *fleet) inState(state string) map[int32][]string {
	out := map[int32][]string{}
	for _, name := range slices.Sorted(maps.Keys(c.procs)) {
		for _, s := range c.procs[name].Runtime().Status() {
			if s.State == state {
				out[s.Partition] = append(out[s.Partition], name)
			}
		}
	}
	return out
}

// warm reports whether every partition runs in one process, and has a standby in another one that
// has folded up to an input offset.
func (c *fleet) warm(next int64) bool {
	running, standby := c.inState("running"), c.inState("standby")
	for p := range int32(fleetPartitions) {
		if len(running[p]) != 1 || len(standby[p]) != 1 || running[p][0] == standby[p][0] {
			return false
		}
		snap, err := c.procs[standby[p][0]].Runtime().Snapshot()
		if err != nil {
			return false
		}
		meta, err := snap.Meta(p)
		_ = snap.Close()
		if err != nil || changelogpb.NextOffsets(meta.GetMarker().GetInputs())["in"] < next {
			return false
		}
	}
	return true
}

// serving reports whether every partition runs in some process.
func (c *fleet) serving() bool { return len(c.inState("running")) == fleetPartitions }

// even reports whether every process runs the same number of partitions.
func (c *fleet) even() bool {
	n := map[string]int{}
	for _, names := range c.inState("running") {
		n[names[0]]++
	}
	for _, name := range c.names {
		if n[name] != fleetPartitions/len(c.names) {
			return false
		}
	}
	return true
}

// produce writes n records to each partition.
func (c *fleet) produce(n int) {
	for p := range int32(fleetPartitions) {
		for i := range n {
			c.Send(&kgo.Record{Topic: "in", Partition: p, Key: fmt.Appendf(nil, "k%d", i%7), Value: []byte("1")})
		}
	}
}

// checkTotal compares the sum over all keys with the number of records.
func (c *fleet) checkTotal(perPartition int64) {
	c.t.Helper()
	sum := int64(0)
	for p := range int32(fleetPartitions) {
		for _, v := range c.State(p, ledger.Table) {
			n, err := ledger.Decode(string(v))
			if err != nil {
				c.t.Error(err)
			}
			sum += n
		}
	}
	if want := perPartition * fleetPartitions; sum != want {
		c.t.Errorf("the total is %d, want %d", sum, want)
	}
}

// TestStandbyTakesOver: the partitions of a killed process move to their standbys, within 8 seconds
// of the kill, which include the session timeout of 6.
func TestStandbyTakesOver(t *testing.T) {
	runFleet(t, []string{"a", "b"}, func(t *testing.T, c *fleet) {
		c.add("c", true)
		c.produce(30)
		c.WaitFor("every partition is warm, and the processes have equally many", 2*time.Minute, func() bool { return c.warm(30) && c.even() })
		running, standby := c.inState("running"), c.inState("standby")
		died := time.Now()
		c.stop("c") // it remains in the group, like a killed process
		c.WaitFor("the others run its partitions", 8*time.Second, c.serving)
		t.Logf("all partitions run again after %s", time.Since(died))
		for p, now := range c.inState("running") {
			if running[p][0] == "c" && now[0] != standby[p][0] {
				t.Errorf("partition %d moved to %s, and its standby is %s", p, now[0], standby[p][0])
			}
			if running[p][0] != "c" && now[0] != running[p][0] {
				t.Errorf("partition %d moved from %s to %s without need", p, running[p][0], now[0])
			}
		}
		c.produce(5)
		c.WaitFor("every partition is warm in the two processes", 2*time.Minute, func() bool { return c.warm(35) })
		c.checkTotal(35)
	})
}

// TestRollingRestart: three processes restart one after another, each with its disk. No partition
// is away for longer than a takeover takes, and in the end the processes have equally many
// partitions.
func TestRollingRestart(t *testing.T) {
	runFleet(t, []string{"a", "b", "c"}, func(t *testing.T, c *fleet) {
		c.produce(30)
		c.WaitFor("every partition is warm", 2*time.Minute, func() bool { return c.warm(30) })
		for i, name := range c.names {
			stopped := time.Now()
			c.stop(name)
			c.WaitFor("the others run its partitions", 3*time.Second, c.serving)
			t.Logf("%s stopped: all partitions run after %s", name, time.Since(stopped))
			c.produce(2)
			c.start(name, false)
			longest, since := time.Duration(0), time.Now()
			c.WaitFor("every partition is warm, and the processes have equally many", time.Minute, func() bool {
				if c.serving() {
					longest, since = max(longest, time.Since(since)), time.Now()
				}
				return c.warm(int64(32+2*i)) && c.even()
			})
			if longest > 3*time.Second {
				t.Errorf("a partition was away for %s while %s came back", longest, name)
			}
			t.Logf("%s back: a partition was away for %s at most", name, longest)
		}
		c.checkTotal(36)
	})
}

// TestNewProcessWarmsFirst: a process with an empty disk gets its share of the partitions only when
// it has caught up.
func TestNewProcessWarmsFirst(t *testing.T) {
	runFleet(t, []string{"a"}, func(_ *testing.T, c *fleet) {
		c.produce(30)
		c.WaitFor("one process runs all partitions", time.Minute, c.serving)
		c.add("b", false)
		c.WaitFor("each process runs half of the partitions and is the standby of the others", time.Minute, func() bool { return c.warm(30) && c.even() })
		c.checkTotal(30)
	})
}
