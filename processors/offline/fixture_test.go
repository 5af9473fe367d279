//go:build synctests

package offline

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// fixture is a crash harness for the ledger, with the tools of this package on the disk of process
// "a".
type fixture struct {
	*processorstest.Harness
	t   *testing.T
	log zerolog.Logger
}

// runLedger runs f on a harness whose topics have n partitions. Offline work changes the state
// behind the processor's back, so the comparison with an undisturbed handler is left out.
func runLedger(t *testing.T, n int32, f func(t *testing.T, w *fixture)) {
	t.Helper()
	runWith(t, processorstest.Options{Processor: ledger.Processor("in"), Topics: []string{"in2"}, Partitions: n, NoRefold: true}, f)
}

// runWith is runLedger with other options.
func runWith(t *testing.T, o processorstest.Options, f func(t *testing.T, w *fixture)) {
	t.Helper()
	processorstest.Run(t, o, func(t *testing.T, h *processorstest.Harness) {
		f(t, &fixture{h, t, zerolog.Nop()})
	})
}

// config is a configuration for offline work on a disk.
func (w *fixture) config(fs vfs.FS) processors.Config {
	return processors.Config{Kafka: w.Kafka(), Dir: processorstest.StateDir, FS: fs, Log: &w.log, CacheBytes: 1 << 20}
}

// foldThree writes 1, 2 and 3 to in[0], lets process "a" fold them, and stops it.
func (w *fixture) foldThree() {
	w.t.Helper()
	w.Produce("in", 0, "k", "1", "2", "3")
	p := w.StartWith("a", processors.Config{Workers: 1}, ledger.Processor("in"))
	w.WaitFor("the records are folded", time.Minute, folded(p, 3))
	p.Stop()
}

// fill produces n records of 1 for keys k0 to k9, over all partitions of "in".
func (w *fixture) fill(partitions int32, n int) {
	var rs []*kgo.Record
	for i := range n {
		rs = append(rs, &kgo.Record{Topic: "in", Partition: int32(i) % partitions, Key: fmt.Appendf(nil, "k%d", i%10), Value: []byte("1")})
	}
	w.Send(rs...)
}

// folded reports whether a process has committed n records of "in".
func folded(p *processorstest.Process, n int64) func() bool {
	return func() bool {
		var sum int64
		for _, s := range p.Runtime().Status() {
			sum += s.Next["in"]
		}
		return sum == n
	}
}

// sum returns a key's sum in the store of a process.
func (w *fixture) sum(p *processorstest.Process, partition int32, key string) int64 {
	w.t.Helper()
	snap, err := p.Runtime().Snapshot()
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = snap.Close() }()
	v, err := snap.Get(partition, ledger.Table, []byte(key))
	if err != nil {
		w.t.Fatal(err)
	}
	if v == nil {
		return 0
	}
	n, err := ledger.Decode(string(v))
	if err != nil {
		w.t.Error(err)
	}
	return n
}

// grow lets process "a" fold n more records than the from that it has, takes a savepoint while it
// is at rest and another one while records flow, and stops it.
func (w *fixture) grow(proc stream.Processor, from, n int64) (rest, flowing *Savepoint) {
	w.t.Helper()
	p := w.StartWith("a", processors.Config{Workers: 2, PollRecords: 13}, proc)
	w.fill(3, int(n))
	w.WaitFor("the records are folded", time.Minute, folded(p, from+n))
	var err error
	if rest, err = TakeSavepoint(context.Background(), p.Runtime(), fmt.Sprint("rest", from+n)); err != nil {
		w.t.Fatal(err)
	}
	produced := make(chan struct{})
	go func() {
		defer close(produced)
		for range 10 {
			w.fill(3, 30)
			time.Sleep(60 * time.Millisecond)
		}
	}()
	time.Sleep(350 * time.Millisecond)
	if flowing, err = TakeSavepoint(context.Background(), p.Runtime(), fmt.Sprint("flowing", from+n)); err != nil {
		w.t.Fatal(err)
	}
	<-produced
	w.WaitFor("all records are folded", time.Minute, folded(p, from+n+300))
	p.Stop()
	return rest, flowing
}
