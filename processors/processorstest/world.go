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
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Options say what is tested.
type Options struct {
	// Processor is what runs. Its topics are made.
	Processor stream.Processor
	// Config is how it runs. Kafka.Brokers, Dir, FS and Instance are set by the world, Workers defaults to 2, CacheBytes to
	// 1 MiB and Log to what is shown if the test fails.
	Config processors.Config
	// Partitions of every topic. Defaults to Processor.Partitions, or 4.
	Partitions int32
	// Brokers is how many there are. Defaults to 3; long runs of many processors are quicker with fewer.
	Brokers int
	// Seed decides how much of what was not synced a crash leaves on the disk. Defaults to 0.
	Seed uint64
	// NoRefold leaves out the judgement by an undisturbed handler. It is for handlers whose results depend on more than the
	// records of a partition and where its transactions end: on the order between inputs, on the owner epoch, on chance.
	// Handlers with timers are left out by themselves.
	NoRefold bool
	// CheckInterval is how often the stores are compared with what the group has committed. Defaults to 100 ms; long runs take longer.
	CheckInterval time.Duration
}

// Harness is a cluster, its processes and what they did. Its methods fail the test where they cannot do what they are asked to.
type Harness struct {
	// Cluster is the fake cluster, for what World has no word for: Fault, ControlKey, CreateTopic, GroupInfo.
	Cluster *kfake.Cluster

	t       *testing.T
	options Options
	parts   int32
	sim     *simkafka.Cluster
	log     zerolog.Logger
	logTail logTail
	client  *kgo.Client

	mu          sync.Mutex
	rng         *rand.Rand
	disks       map[string]*vfs.MemFS // by process name
	procs       []*Process            // every life
	storesAhead []error               // what watch saw
	seen        int                   // how many samples it took
	kill        context.CancelFunc
	ended       chan struct{} // closed when watch has ended

	guests  []*Harness // on the same brokers
	isGuest bool       // one of those
}

// Run makes a world in a bubble, calls f in it, stops what still runs, and judges what is left.
func Run(t *testing.T, o Options, f func(t *testing.T, w *Harness)) {
	t.Helper()
	if err := run(t, o, f); err != nil {
		t.Error(err)
	}
}

// run is Run that hands out the verdict.
func run(t *testing.T, o Options, f func(t *testing.T, w *Harness)) (verdict error) {
	t.Helper()
	if !tagged {
		t.Fatal("processorstest needs the build tag synctests, which makes the Kafka client's mutexes visible to testing/synctest: go test -tags synctests")
	}
	synctest.Test(t, func(t *testing.T) {
		w, err := newHarness(t, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer w.close()
		f(t, w)
		verdict = w.end()
		if verdict != nil {
			t.Logf("the last words of the processes:\n%s", w.logTail.String())
		}
	})
	return verdict
}

// newHarness makes a world on brokers of its own, or on those of host.
func newHarness(t *testing.T, o Options, host *Harness) (*Harness, error) {
	o.Processor.SetDefaults()
	w := &Harness{
		t: t, options: o, parts: cmp.Or(o.Partitions, o.Processor.Partitions, 4),
		rng: rand.New(rand.NewPCG(o.Seed, 1)), disks: map[string]*vfs.MemFS{}, ended: make(chan struct{}),
	}
	w.log = zerolog.New(zerolog.ConsoleWriter{Out: &w.logTail, NoColor: true, TimeFormat: "15:04:05.000"}).Level(zerolog.InfoLevel).With().Timestamp().Logger()
	if o.Config.Log != nil {
		w.log = *o.Config.Log
	}
	if err := w.connect(host); err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, w.kill = context.WithCancel(context.Background())
	go w.watch(ctx)
	return w, nil
}

// connect finds or starts the brokers, with the processor's topics.
func (w *Harness) connect(host *Harness) (err error) {
	topics := append(w.options.Processor.WrittenTopics(), w.options.Processor.Inputs...)
	slices.Sort(topics)
	topics = slices.Compact(topics)
	if host == nil {
		if w.sim, err = simkafka.NewWithBrokers(cmp.Or(w.options.Brokers, 3), w.parts, topics...); err != nil {
			return err
		}
	} else {
		w.sim, w.isGuest = host.sim, true
		for _, topic := range topics {
			if w.sim.TopicInfo(topic) != nil {
				continue
			}
			if err := w.sim.CreateTopic(topic, w.parts, nil); err != nil {
				return fmt.Errorf("make topic %s: %w", topic, err)
			}
		}
	}
	w.Cluster = w.sim.Cluster
	w.sim.Unstick(w.options.Processor.App)
	if w.client, err = w.Kafka().Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0)); err != nil {
		if !w.isGuest {
			w.sim.Close()
		}
		return fmt.Errorf("make client: %w", err)
	}
	return nil
}

// AddProcessor makes a world on the same brokers: of another processor, with processes of its own. It ends with w, and is judged as w is.
func (w *Harness) AddProcessor(o Options) *Harness {
	w.t.Helper()
	if o.Config.Log == nil {
		o.Config.Log = &w.log
	}
	b, err := newHarness(w.t, o, w)
	if err != nil {
		w.t.Fatal(err)
	}
	w.guests = append(w.guests, b)
	return b
}

// Unstick keeps the rebalances of a group going that is no Processor's: kfake's need it once static members come back.
func (w *Harness) Unstick(group string) { w.sim.Unstick(group) }

// close ends what runs, at whatever state a failed test left it.
func (w *Harness) close() {
	for _, b := range w.guests {
		b.close()
	}
	w.kill()
	<-w.ended
	for _, p := range w.running() {
		p.Kill()
	}
	w.mu.Lock()
	procs := w.procs
	w.mu.Unlock()
	for _, p := range procs {
		<-p.done
	}
	w.client.Close()
	if !w.isGuest {
		w.sim.Close()
	}
}

// Kafka is how to reach the brokers, by a way that no fault of a process touches.
func (w *Harness) Kafka() kafka.Cluster {
	return kafka.Cluster{Brokers: w.sim.ListenAddrs(), Options: w.sim.Link().Options()}
}

// running are the processes that were started and not killed or stopped.
func (w *Harness) running() []*Process {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(w.procs), func(p *Process) bool { return p.Ended() })
}
