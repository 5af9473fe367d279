package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/loadgen"
)

// TestMillionCampaigns counts two million events of a million campaigns, each event of another than the one before, as fast
// as they come; then kills the process three times. It is about memory and the time to come back, not about exactness.
func TestMillionCampaigns(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads the process's memory from /proc")
	}
	c := shared(t)
	f := follow(c)
	a := newInstance(c, "a")
	p := a.start()
	p.ready(30 * time.Second)
	began := time.Now()
	produceMillions(c, 2_000_000)
	f.caughtUp(c, 3*time.Minute)
	t.Logf("2,000,000 events produced and counted in %s", time.Since(began))
	peak, now := p.memory("VmHWM"), p.memory("VmRSS")
	t.Logf("resident memory: %d MiB at the peak, %d MiB now", peak>>20, now>>20)
	if peak >= 1<<30 {
		t.Errorf("%d MiB at the peak, want less than 1 GiB", peak>>20)
	}
	l := startLoad(c, 5, 2_000, 1)
	var back []time.Duration
	for range 3 {
		f.caughtUp(c, 30*time.Second)
		killed := time.Now()
		p.kill()
		p = a.start()
		within(t, 30*time.Second, "a new record", func(context.Context) error {
			list := f.takeovers(a.name, killed)
			if len(list) == 0 {
				return errors.New("nothing yet")
			}
			back = append(back, list[0].appliedAt.Sub(killed))
			return nil
		})
		p.ready(30 * time.Second)
	}
	l.finish(time.Minute)
	slices.Sort(back)
	t.Logf("kill -9 to the first new record: %s", back)
	if back[1] > 5*time.Second {
		t.Errorf("median %s: a restart is to wait for nobody", back[1])
	}
	t.Logf("resident memory after a restart: %d MiB", p.memory("VmRSS")>>20)
}

func produceMillions(c *cluster, n int) {
	c.t.Helper()
	gen, err := loadgen.NewBench(loadgen.BenchConfig{Campaigns: 1_000_000, StartMs: time.Now().UnixMilli()})
	if err != nil {
		c.t.Fatal(err)
	}
	cl := c.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.Lz4Compression()),
		kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(100_000))
	first := kgo.AbortingFirstErrPromise(cl)
	for range n {
		value, r := gen.Append(nil)
		cl.Produce(c.t.Context(), &kgo.Record{Topic: events.EventsTopic, Partition: r.Partition, Value: value}, first.Promise())
	}
	if err := errors.Join(cl.Flush(c.t.Context()), first.Err()); err != nil {
		c.t.Fatal(err)
	}
	cl.Close()
}

// memory reads a line of the process's status, in bytes: VmRSS is now, VmHWM the most so far.
func (p *process) memory(line string) int {
	p.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.t.Fatal(err)
	}
	for text := range strings.Lines(string(status)) {
		var kib int
		if rest, ok := strings.CutPrefix(text, line+":"); ok {
			if _, err := fmt.Sscan(rest, &kib); err != nil {
				p.t.Fatal(err)
			}
			return kib << 10
		}
	}
	p.t.Fatalf("no %s in %s", line, status)
	return 0
}
