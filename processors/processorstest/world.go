package processorstest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/simkafka"
)

// Options say what is tested.
type Options struct {
	// Processor is what runs. Its topics are made.
	Processor processors.Processor
	// Config is how it runs. Kafka.Brokers, Dir, FS and Instance are set by the world, Workers defaults to 2, CacheBytes to
	// 1 MiB and Log to what is shown if the test fails.
	Config processors.Config
	// Partitions of every topic. Defaults to Processor.Partitions, or 4.
	Partitions int32
	// Seed decides how much of what was not synced a crash leaves on the disk. Defaults to 0.
	Seed uint64
	// NoRefold leaves out the judgement by an undisturbed handler. It is for handlers whose results depend on more than the
	// records of a partition and where its transactions end: on the order between inputs, on the owner epoch, on chance.
	// Handlers with timers are left out by themselves.
	NoRefold bool
}

// World is a cluster, its processes and what they did. Its methods fail the test where they cannot do what they are asked to.
type World struct {
	// Cluster is the fake cluster, for what World has no word for: Fault, ControlKey, CreateTopic, GroupInfo.
	Cluster *kfake.Cluster

	t      *testing.T
	o      Options
	parts  int32
	sim    *simkafka.Cluster
	log    zerolog.Logger
	lines  lines
	client *kgo.Client

	mu    sync.Mutex
	rng   *rand.Rand
	disks map[string]*vfs.MemFS // by process name
	procs []*Process            // every life
	ahead []error               // what watch saw
	seen  int                   // how many samples it took
	kill  context.CancelFunc
	ended chan struct{} // closed when watch has ended
}

// Run makes a world in a bubble, calls f in it, stops what still runs, and judges what is left.
func Run(t *testing.T, o Options, f func(t *testing.T, w *World)) {
	t.Helper()
	if err := run(t, o, f); err != nil {
		t.Error(err)
	}
}

// run is Run that hands out the verdict.
func run(t *testing.T, o Options, f func(t *testing.T, w *World)) (verdict error) {
	t.Helper()
	if !tagged {
		t.Fatal("processorstest needs the build tag synctests, which makes the Kafka client's mutexes visible to testing/synctest: go test -tags synctests")
	}
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(t, o)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		f(t, w)
		verdict = w.end()
		if verdict != nil {
			t.Logf("the last words of the processes:\n%s", w.lines.String())
		}
	})
	return verdict
}

func newWorld(t *testing.T, o Options) (*World, error) {
	if o.Processor.DLQ == "" {
		o.Processor.DLQ = o.Processor.App + ".dlq"
	}
	w := &World{
		t: t, o: o, parts: cmp.Or(o.Partitions, o.Processor.Partitions, 4),
		rng: rand.New(rand.NewPCG(o.Seed, 1)), disks: map[string]*vfs.MemFS{}, ended: make(chan struct{}),
	}
	w.log = zerolog.New(zerolog.ConsoleWriter{Out: &w.lines, NoColor: true, TimeFormat: "15:04:05.000"}).Level(zerolog.InfoLevel).With().Timestamp().Logger()
	if o.Config.Log != nil {
		w.log = *o.Config.Log
	}
	topics := append([]string{o.Processor.Changelog, o.Processor.DLQ}, o.Processor.Inputs...)
	topics = append(topics, o.Processor.Outputs...)
	slices.Sort(topics)
	var err error
	if w.sim, err = simkafka.New(w.parts, slices.Compact(topics)...); err != nil {
		return nil, err
	}
	w.Cluster = w.sim.Cluster
	w.sim.Unstick(o.Processor.App)
	if w.client, err = w.Kafka().Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0)); err != nil {
		w.sim.Close()
		return nil, fmt.Errorf("make client: %w", err)
	}
	var ctx context.Context
	ctx, w.kill = context.WithCancel(context.Background())
	go w.watch(ctx)
	return w, nil
}

// close ends what runs, at whatever state a failed test left it.
func (w *World) close() {
	w.kill()
	<-w.ended
	for _, p := range w.living() {
		p.Kill()
	}
	w.mu.Lock()
	procs := w.procs
	w.mu.Unlock()
	for _, p := range procs {
		<-p.done
	}
	w.client.Close()
	w.sim.Close()
}

// Kafka is how to reach the brokers, by a way that no fault of a process touches.
func (w *World) Kafka() processors.Kafka {
	return processors.Kafka{Brokers: w.sim.ListenAddrs(), Options: w.sim.Link().Options()}
}

// living are the processes that were started and not killed or stopped.
func (w *World) living() []*Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.procs), func(p *Process) bool { return p.Gone() })
}
