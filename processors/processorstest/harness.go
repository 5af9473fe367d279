package processorstest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/processorstest/crashfs"
)

// Harness is a simulated cluster with the processes of one processor. A method that cannot do its
// work fails the test.
type Harness struct {
	// Cluster is the simulated cluster, for faults that Harness has no method for: Fault,
	// ControlKey, CreateTopic, GroupInfo.
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
	disks       map[string]*crashfs.FS // by process name
	procs       []*Process             // every life of every process
	clients     []*kgo.Client          // of tests
	storesAhead []error                // what compareStores found during the run
	comparisons int                    // how often compareStores compared
	stopCompare context.CancelFunc
	compareDone chan struct{} // closed when compareStores has ended

	guests  []*Harness // other processors on the same brokers
	isGuest bool       // the brokers belong to another Harness
}

// Run starts a simulated cluster in a bubble of testing/synctest and calls f. Then it stops the
// processes that still run and reports what the checks found as errors of t.
func Run(t *testing.T, o Options, f func(t *testing.T, h *Harness)) {
	t.Helper()
	if err := CheckRun(t, o, f); err != nil {
		t.Error(err)
	}
}

// CheckRun is Run for tests that inject bugs: it returns what the checks found.
func CheckRun(t *testing.T, o Options, f func(t *testing.T, h *Harness)) (verdict error) {
	t.Helper()
	if !tagged {
		t.Fatal(
			"processorstest needs the build tag synctests, which makes the mutexes of the Kafka client visible to testing/synctest: go test -tags synctests")
	}
	synctest.Test(t, func(t *testing.T) {
		h, err := newHarness(t, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer h.close()
		f(t, h)
		verdict = h.end()
		if verdict != nil {
			t.Logf("the end of the log:\n%s", h.logTail.String())
		}
	})
	return verdict
}

// newHarness starts a harness on brokers of its own, or on those of host.
func newHarness(t *testing.T, o Options, host *Harness) (*Harness, error) {
	o.Processor.SetDefaults()
	if len(o.Processor.On) > 0 { // its New, which the checks need
		if err := o.Processor.Complete(); err != nil {
			return nil, err
		}
	}
	h := &Harness{
		t: t, options: o, parts: cmp.Or(o.Partitions, o.Processor.Partitions, 4),
		rng: rand.New(rand.NewPCG(o.Seed, 1)), disks: map[string]*crashfs.FS{}, compareDone: make(chan struct{}),
	}
	var out io.Writer = &h.logTail
	if os.Getenv("WEIR_TEST_LOG") != "" {
		out = io.MultiWriter(out, os.Stderr)
	}
	h.log = zerolog.New(zerolog.ConsoleWriter{Out: out, NoColor: true, TimeFormat: "15:04:05.000"}).Level(zerolog.InfoLevel).With().
		Timestamp().Logger()
	if o.Config.Log != nil {
		h.log = *o.Config.Log
	}
	if err := h.connect(host); err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, h.stopCompare = context.WithCancel(context.Background())
	go h.compareStores(ctx)
	return h, nil
}

// connect finds or starts the brokers, and creates the topics that do not exist yet.
func (h *Harness) connect(host *Harness) (err error) {
	topics := slices.Concat(h.options.Processor.WrittenTopics(), h.options.Processor.Inputs, h.options.Topics)
	slices.Sort(topics)
	topics = slices.Compact(topics)
	if host == nil {
		if h.sim, err = simkafka.NewWithBrokers(cmp.Or(h.options.Brokers, 3), h.parts, topics...); err != nil {
			return err
		}
	} else {
		h.sim, h.isGuest = host.sim, true
		for _, topic := range topics {
			if h.sim.TopicInfo(topic) != nil {
				continue
			}
			if err := h.sim.CreateTopic(topic, h.parts, nil); err != nil {
				return fmt.Errorf("create topic %s: %w", topic, err)
			}
		}
	}
	h.Cluster = h.sim.Cluster
	h.sim.Unstick(h.options.Processor.App)
	if h.client, err = h.Kafka().Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.ProducerBatchMaxBytes(1<<20)); err != nil {
		if !h.isGuest {
			h.sim.Close()
		}
		return fmt.Errorf("make client: %w", err)
	}
	return nil
}

// AddProcessor adds another processor, with processes of its own, on the same brokers. It ends with
// h, and its checks are a part of those of h.
func (h *Harness) AddProcessor(o Options) *Harness {
	h.t.Helper()
	if o.Config.Log == nil {
		o.Config.Log = &h.log
	}
	guest, err := newHarness(h.t, o, h)
	if err != nil {
		h.t.Fatal(err)
	}
	h.guests = append(h.guests, guest)
	return guest
}

// Unstick keeps the rebalances of a consumer group going that belongs to no Process. It works
// around a miscount of static members in kfake.
func (h *Harness) Unstick(group string) { h.sim.Unstick(group) }

// Client returns a client with a connection that no fault of a process touches. It is closed at the
// end of the run.
func (h *Harness) Client(opts ...kgo.Opt) *kgo.Client {
	h.t.Helper()
	cl, err := h.Kafka().Client(opts...)
	if err != nil {
		h.t.Fatalf("make client: %v", err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients = append(h.clients, cl)
	return cl
}

// Kafka returns an address of the brokers with a connection that no fault of a process touches.
func (h *Harness) Kafka() kafka.Cluster {
	return kafka.Cluster{Brokers: h.sim.ListenAddrs(), Options: h.sim.Link().Options()}
}

// Disk returns the disk that the next process of this name gets: a new one, or the one that the
// last process of this name left.
func (h *Harness) Disk(name string) *crashfs.FS {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.disks[name] == nil {
		h.disks[name] = crashfs.New()
	}
	return h.disks[name]
}

// NewDisk removes the disk of a process that is not running. The next process of this name gets an
// empty one.
func (h *Harness) NewDisk(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.disks, name)
}

// close ends everything, whatever state a failed test left it in.
func (h *Harness) close() {
	for _, guest := range h.guests {
		guest.close()
	}
	h.stopCompare()
	<-h.compareDone
	for _, p := range h.running() {
		p.Kill()
	}
	h.mu.Lock()
	procs, clients := h.procs, h.clients
	h.mu.Unlock()
	for _, p := range procs {
		<-p.done
	}
	for _, cl := range append(clients, h.client) {
		cl.Close()
	}
	if !h.isGuest {
		h.sim.Close()
	}
}

// lives returns every process that was ever started.
func (h *Harness) lives() []*Process {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.procs)
}

// running returns the processes that were started and have not been killed or stopped.
func (h *Harness) running() []*Process {
	return slices.DeleteFunc(h.lives(), (*Process).Ended)
}
