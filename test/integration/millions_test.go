package integration

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/loadgen"
)

// produceMillions produces n events of so many campaigns, without a rate limit.
func produceMillions(c *cluster, campaigns, n int) {
	c.t.Helper()
	gen, err := loadgen.NewBench(loadgen.BenchConfig{Campaigns: campaigns, StartMs: time.Now().UnixMilli()})
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

// memory returns a line of the process's status in bytes: VmRSS is the present size, VmHWM the
// peak.
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
