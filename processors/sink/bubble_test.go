//go:build synctests

package sink

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

const (
	topic = "commands"
	group = "hands"
	parts = 4
)

type place struct {
	partition int32
	offset    int64
}

// sinkRun is a cluster with consumers, and a record of the calls of Do.
type sinkRun struct {
	t   *testing.T
	rng *rand.Rand
	c   *simkafka.Cluster
	mut mutation
	cl  *kgo.Client

	mu     sync.Mutex
	key    map[place]string
	first  map[place]int        // the order in which records were done for the first time
	done   map[string]int64     // the greatest offset that is done, by partition and key
	places []place              // all records, in the order in which they were produced
	bad    []string             // violations
	hits   map[string]int       // counts of events
	sick   map[string]time.Time // until when the calls of a key fail
	now    map[string]int       // calls under way, by process, partition and key
}

// mutation injects a bug into a consumer.
type mutation func(*settings)

func newSinkRun(t *testing.T, seed uint64, mut mutation) *sinkRun {
	c, err := simkafka.New(parts, topic)
	if err != nil {
		t.Fatal(err)
	}
	w := &sinkRun{
		t: t, rng: rand.New(rand.NewPCG(seed, 11)), c: c, mut: mut, key: map[place]string{}, first: map[place]int{}, done: map[string]int64{},
		hits: map[string]int{}, sick: map[string]time.Time{}, now: map[string]int{},
	}
	if w.cl, err = kgo.NewClient(append(c.Link().Options(), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))...); err != nil {
		t.Fatal(err)
	}
	c.KeepEpochs()
	c.ControlKey(int16(kmsg.OffsetCommit), w.commits)
	return w
}

func (w *sinkRun) close() {
	w.cl.Close()
	w.c.Close()
}

// commits checks each commit request: all records before the offset must be done.
func (w *sinkRun) commits(req kmsg.Request) (kmsg.Response, error, bool) {
	w.c.KeepControl()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, t := range req.(*kmsg.OffsetCommitRequest).Topics {
		for _, p := range t.Partitions {
			w.hits["commit"]++
			for o := range p.Offset {
				at := place{p.Partition, o}
				if _, did := w.first[at]; !did && w.key[at] != "" {
					w.bad = append(w.bad, fmt.Sprintf("offset %d of partition %d is committed, offset %d is not done", p.Offset, p.Partition, o))
					break
				}
			}
		}
	}
	return nil, nil, false
}

func (w *sinkRun) pick(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// do is the action of the sink. It fails at random.
func (w *sinkRun) do(ctx context.Context, p *process, r *stream.SinkRecord) error {
	at := place{r.Partition, r.Offset}
	key := string(r.Key)
	lane := fmt.Sprintf("%d/%s", r.Partition, key)
	mine := fmt.Sprintf("%p/%s", p, lane)
	w.mu.Lock()
	if w.now[mine]++; w.now[mine] > 1 {
		w.bad = append(w.bad, fmt.Sprintf("two concurrent calls of %s", lane))
	}
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.now[mine]--
	}()
	wait := time.Duration(w.pick(50)) * time.Millisecond
	if w.pick(40) == 0 {
		wait = time.Duration(w.pick(6000)) * time.Millisecond
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(wait):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if p.dead.Load() {
		return errors.New("dead")
	}
	if w.rng.IntN(10) == 0 || time.Now().Before(w.sick[key]) {
		w.hits["failed"]++
		return errors.New("sick")
	}
	if _, did := w.first[at]; !did {
		if last, ok := w.done[lane]; ok && last > r.Offset {
			w.bad = append(w.bad, fmt.Sprintf("%d of %s is done after %d", r.Offset, lane, last))
		}
		w.first[at] = len(w.first)
		w.done[lane] = r.Offset
	} else {
		w.hits["again"]++
	}
	return nil
}

// run runs a random history of produced records, kills, stops, freezes and faults of the brokers.
func (w *sinkRun) run() {
	produced := make(chan struct{})
	go w.produce(produced)
	w.c.Unstick(group)
	procs := []*process{w.start("a"), w.start("b")}
	for range 14 {
		time.Sleep(time.Duration(w.pick(3000)) * time.Millisecond)
		i := w.pick(len(procs))
		switch w.pick(8) {
		case 0, 1:
			w.mu.Lock()
			w.hits["killed"]++
			w.mu.Unlock()
			procs[i].kill()
			time.Sleep(time.Duration(w.pick(9000)) * time.Millisecond)
			procs[i] = w.start(procs[i].cfg.Instance)
		case 2:
			procs[i].stop()
			procs[i] = w.start(procs[i].cfg.Instance)
		case 3:
			if len(procs) < 3 {
				procs = append(procs, w.start("c"))
			}
		case 4:
			procs[i].link.Freeze()
			time.Sleep(time.Duration(w.pick(12_000)) * time.Millisecond)
			procs[i].link.Thaw()
		case 5:
			w.c.ShufflePartitionLeaders()
			w.c.RehashCoordinators()
		case 6:
			w.c.LoseAnswers([]kmsg.Key{kmsg.OffsetCommit, kmsg.JoinGroup, kmsg.Fetch}[w.pick(3)], 1+w.pick(2))
		case 7:
			keys := []kmsg.Key{kmsg.OffsetCommit, kmsg.Heartbeat, kmsg.SyncGroup, kmsg.OffsetFetch}
			errs := []*kerr.Error{kerr.UnknownServerError, kerr.NotCoordinator, kerr.RebalanceInProgress, kerr.UnknownMemberID, kerr.IllegalGeneration}
			h := w.c.Fault(kfake.Fault{Keys: []kmsg.Key{keys[w.pick(len(keys))]}, Err: errs[w.pick(len(errs))], Count: 1 + w.pick(3)})
			time.Sleep(2 * time.Second)
			h.Remove()
		}
		w.mu.Lock()
		w.sick[fmt.Sprintf("k%d", w.rng.IntN(12))] = time.Now().Add(time.Duration(w.rng.IntN(20)) * time.Second)
		w.mu.Unlock()
	}
	<-produced
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end) && w.left() > 0; {
		time.Sleep(time.Second)
	}
	if w.left() > 0 {
		for _, p := range procs {
			w.t.Logf("not all records are done: %+v", p.Status())
		}
		w.t.Logf("not all records are done: the group is %+v", w.c.GroupInfo(group))
	}
	for _, p := range procs {
		p.stop()
	}
	w.check()
}

func (w *sinkRun) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.places) - len(w.first)
}

// check holds, at the end, that all records are done.
func (w *sinkRun) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range w.places {
		if _, did := w.first[at]; !did {
			w.bad = append(w.bad, fmt.Sprintf("offset %d of partition %d was never done", at.offset, at.partition))
		}
	}
}

// behind returns the number of records after the committed offsets.
func (w *sinkRun) behind() (n int64) {
	adm := kadm.NewClient(w.cl)
	got, err := adm.FetchOffsets(context.Background(), group)
	if err != nil {
		w.t.Fatal(err)
	}
	ends, err := adm.ListEndOffsets(context.Background(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	ends.Each(func(end kadm.ListedOffset) {
		o, _ := got.Lookup(topic, end.Partition)
		n += end.Offset - o.At
	})
	return n
}

func (w *sinkRun) send(partition int32, keys ...string) {
	for _, key := range keys {
		r := &kgo.Record{Topic: topic, Partition: partition, Key: []byte(key)}
		if err := w.cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			w.t.Error(err)
			return
		}
		at := place{r.Partition, r.Offset}
		w.mu.Lock()
		w.key[at] = key
		w.places = append(w.places, at)
		w.mu.Unlock()
	}
}

func (w *sinkRun) produce(done chan struct{}) {
	defer close(done)
	for range 60 {
		keys := make([]string, 1+w.pick(8))
		for i := range keys {
			keys[i] = fmt.Sprintf("k%d", w.pick(12))
		}
		w.send(int32(w.pick(parts)), keys...)
		time.Sleep(time.Duration(w.pick(800)) * time.Millisecond)
	}
}

// bubble runs a history and returns its violations.
func bubble(t *testing.T, seed uint64, mut mutation) (bad []string, hits map[string]int) {
	synctest.Test(t, func(t *testing.T) {
		w := newSinkRun(t, seed, mut)
		defer w.close()
		w.run()
		bad, hits = w.bad, w.hits
	})
	return bad, hits
}

func runs() int {
	n := 400
	if s := os.Getenv("WEIR_TEST_CRASH_RUNS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	return max(4, n/20)
}

// TestTroubles holds in random histories that each record is done, in the order of its key, before
// it is committed.
func TestTroubles(t *testing.T) {
	var mu sync.Mutex
	all := map[string]int{}
	t.Run("histories", func(t *testing.T) {
		for seed := range uint64(runs()) {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				bad, hits := bubble(t, seed, func(*settings) {})
				if len(bad) > 0 {
					t.Errorf("%d violations: %s", len(bad), strings.Join(bad[:min(5, len(bad))], "; "))
				}
				mu.Lock()
				defer mu.Unlock()
				for k, n := range hits {
					all[k] += n
				}
			})
		}
	})
	t.Log(all)
	for _, k := range []string{"killed", "failed", "again", "commit"} {
		if all[k] == 0 {
			t.Errorf("no history has an event %q", k)
		}
	}
}

// TestMutations is the mutation test of TestTroubles.
func TestMutations(t *testing.T) {
	for name, m := range map[string]struct {
		mut  mutation
		want string
	}{
		"what was fetched is committed": {func(c *settings) { c.committable = func(l *partitionQueue) int64 { return l.next } }, "committed"},
		"what is done at the end is committed": {func(c *settings) {
			c.committable = func(l *partitionQueue) int64 {
				at := l.committable()
				for _, e := range l.entries {
					if e.done {
						at = e.Offset + 1
					}
				}
				return at
			}
		}, "committed"},
		"keys are not heeded": {func(c *settings) { c.Key = func(r *stream.SinkRecord) string { return fmt.Sprint(r.Offset) } }, "is done after"},
		"a failure is taken for done": {func(c *settings) {
			do := c.Do
			c.Do = func(ctx context.Context, r *stream.SinkRecord) error { _ = do(ctx, r); return nil }
		}, "never done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(6) {
				bad, _ := bubble(t, 100+seed, m.mut)
				if strings.Contains(strings.Join(bad, "\n"), m.want) {
					return
				}
			}
			t.Error("no history found it")
		})
	}
}

// process is a process with one consumer.
type process struct {
	*Consumer
	link   *simkafka.Link
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
	dead   deadMark
}

type deadMark struct {
	mu sync.Mutex
	is bool
}

func (d *deadMark) Load() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.is
}

func (d *deadMark) Set() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.is = true
}

func (w *sinkRun) start(name string, change ...func(*settings)) *process {
	p := &process{link: w.c.Link(), ended: make(chan struct{})}
	var log *zerolog.Logger
	if os.Getenv("WEIR_TEST_LOG") != "" {
		l := zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, NoColor: true}).With().Timestamp().Logger()
		log = &l
	}
	cfg := settings{
		Config: Config{Kafka: kafka.Cluster{Brokers: w.c.ListenAddrs(), Options: p.link.Options()}, Instance: name, Log: log},
		Sink: stream.Sink{
			Group: group, Topic: topic, Concurrency: 8, Pending: 40,
			Do: func(ctx context.Context, r *stream.SinkRecord) error { return w.do(ctx, p, r) },
		},
		committable: (*partitionQueue).committable,
	}
	for _, c := range append(change, w.mut) {
		if c != nil {
			c(&cfg)
		}
	}
	c, err := newConsumer(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.Consumer, p.cancel = c, cancel
	go func() {
		defer close(p.ended)
		p.err = c.Run(ctx)
	}()
	return p
}

// kill ends a process without a commit or a leave request.
func (p *process) kill() {
	p.dead.Set()
	p.link.Cut()
	p.cancel()
	<-p.ended
}

func (p *process) stop() {
	p.cancel()
	<-p.ended
}
