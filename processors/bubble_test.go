//go:build synctests

package processors

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/internal/invariant"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// The bubble runs the real client, a fake cluster of three brokers and Pebble on a crashable file system in virtual time,
// and breaks what can break: processes die at every edge of the commit cycle, brokers answer with errors or not at all,
// leaders and coordinators move. What is left is judged by invariant.
const (
	parts = 4
	app   = "ledger"
)

func inputs() []string { return []string{"in", "in2"} }

// ledger is the core under test: a sum per key, and one output for each input. Value "bad" is refused, "poison" panics.
type ledger struct {
	get   func(table byte, key []byte) ([]byte, error)
	sums  map[string]int64
	dirty map[string]bool
	outs  []string
	p     int32
	next  map[string]int64
}

func newLedger(t stream.Task) (stream.Handler, error) {
	return &ledger{get: t.Get, p: t.Partition, sums: map[string]int64{}, dirty: map[string]bool{}, next: t.Next}, nil
}

func (l *ledger) RebuildFrom() map[string]int64 {
	return map[string]int64{"in": max(0, l.next["in"]-10), "in2": max(0, l.next["in2"]-5)}
}

func (l *ledger) Rebuild(b *stream.Batch) error {
	for _, r := range b.Records {
		if r.Offset >= l.next[b.Topic] {
			return fmt.Errorf("warmed with %s@%d, state is at %d", b.Topic, r.Offset, l.next[b.Topic])
		}
	}
	return nil
}

func (l *ledger) Fold(b *stream.Batch) error {
	for i, r := range b.Records {
		if string(r.Value) == "bad" {
			b.Reject(i, "bad", "the value says so")
			continue
		}
		key := string(r.Key)
		if _, ok := l.sums[key]; !ok {
			v, err := l.get(1, r.Key)
			if err != nil {
				return err
			}
			if v != nil {
				l.sums[key] = int64(binary.BigEndian.Uint64(v))
			}
		}
		if string(r.Value) == "poison" {
			l.sums[key] += 1 << 40 // a half-done fold: it must not survive
			panic("poison")
		}
		n, err := strconv.ParseInt(string(r.Value), 10, 64)
		if err != nil {
			return err
		}
		l.sums[key] += n
		l.dirty[key] = true
		l.outs = append(l.outs, fmt.Sprintf("%s/%d/%d", b.Topic, l.p, r.Offset))
	}
	return nil
}

func (l *ledger) Flush(_ stream.Commit, ch *stream.Changes) error {
	for k := range l.dirty {
		ch.Put(1, []byte(k), binary.BigEndian.AppendUint64(nil, uint64(l.sums[k])))
	}
	for _, o := range l.outs {
		ch.EmitTo("out", l.p, stream.Message{Key: []byte(o), Value: []byte(o)})
	}
	clear(l.sums) // Get returns what this Flush handed over
	clear(l.dirty)
	l.outs = l.outs[:0]
	return nil
}

// crashRun is one run.
type crashRun struct {
	t    *testing.T
	rng  *rand.Rand
	c    *simkafka.Cluster
	log  zerolog.Logger
	h    invariant.History
	mu   sync.Mutex
	hits map[string]int // what happened, to know that the run was not empty
	mut  mutation
	errs []error // what went wrong while it ran

	left    map[string][]*kgo.Record  // topics as the run left them
	timers  map[int32]map[string]bool // of the stores in h.Stores
	workers int
	quiet   bool   // the core under test sets no timers
	disk    vfs.FS // instead of a process's own
	ballast int64
	ends    []func() // of runtimes begun
}

// mutation spoils the runtime on purpose.
type mutation struct {
	opts      []kgo.Opt
	failpoint func(w *worker, at string) error
	core      func(stream.Task) (stream.Handler, error)
}

func (w *crashRun) hit(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hits[what]++
}

func (w *crashRun) kafka() kafka.Cluster {
	return kafka.Cluster{Brokers: w.c.ListenAddrs(), Options: w.c.Link().Options()}
}

func (w *crashRun) client(opts ...kgo.Opt) *kgo.Client {
	cl, err := w.kafka().Client(opts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return cl
}

// process is one life of a weir process.
type process struct {
	w      *crashRun
	name   string
	fs     *vfs.MemFS
	rt     *Runtime
	cancel context.CancelFunc
	done   chan struct{}
	err    error // once done
	mu     sync.Mutex
	dieAt  string
	killed bool
	crash  *vfs.MemFS
}

var errKilled = errors.New("killed")

func (w *crashRun) start(name string, fs *vfs.MemFS) *process {
	p := &process{w: w, name: name, fs: fs, done: make(chan struct{})}
	k := w.kafka()
	k.Options = append(k.Options, w.mut.opts...)
	cfg := Config{Kafka: k, Dir: "/state", FS: fs, Instance: name, Workers: w.workers, Standbys: w.workers % 2, refreshLag: 10, RemainInGroup: true, Log: &w.log, CommitIntervalMax: 300 * time.Millisecond, PollRecords: 10, CacheBytes: 1 << 20}
	if cfg.failpoint = p.atFailpoint; w.disk != nil {
		cfg.FS, cfg.BallastBytes, cfg.MemtableBytes = w.disk, w.ballast, 192<<10
	}
	rt, err := New(cfg, stream.Processor{App: app, Inputs: inputs(), Changelog: "log", Outputs: stream.OutputTopics("out", "fired"), New: w.mut.core})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.rt, p.cancel = rt, cancel
	go func() {
		defer close(p.done)
		p.err = rt.Run(ctx)
	}()
	return p
}

// atFailpoint dies where it was told to, and everywhere once it is dead.
func (p *process) atFailpoint(wk *worker, at string) error {
	if p.w.mut.failpoint != nil {
		if err := p.w.mut.failpoint(wk, at); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed && p.dieAt == at {
		p.die(at)
	}
	if p.killed {
		return errKilled
	}
	return nil
}

// die takes the picture that the disk would show after a crash now.
func (p *process) die(at string) {
	p.killed = true
	p.crash = p.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: p.w.pick(101), RNG: rand.New(rand.NewPCG(uint64(p.w.pick(1<<30)), 1))})
	p.w.hit("killed " + at)
	p.cancel()
}

func (p *process) kill() {
	p.mu.Lock()
	if !p.killed {
		p.die("anywhere")
	}
	p.mu.Unlock()
	<-p.done
}

func (p *process) dead() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}

func (w *crashRun) pick(n int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rng.IntN(n)
}

// runBubble runs one world and says what is wrong with what it left.
func runBubble(t *testing.T, seed uint64, mut mutation) (verdict error, h *invariant.History, hits map[string]int) {
	quiet := mut.core != nil
	if mut.core == nil {
		mut.core = newTimedLedger
	}
	synctest.Test(t, func(t *testing.T) {
		w := &crashRun{t: t, rng: rand.New(rand.NewPCG(seed, 7)), hits: map[string]int{}, log: zerolog.Nop(), mut: mut, quiet: quiet}
		if os.Getenv("BUBBLE_LOG") != "" {
			w.log = zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, NoColor: true}).Level(zerolog.InfoLevel).With().Timestamp().Logger()
		}
		w.run()
		h, hits = &w.h, w.hits
		verdict = errors.Join(append(w.errs, judge(h))...)
	})
	return verdict, h, hits
}

func (w *crashRun) run() {
	c, err := simkafka.New(parts, "in", "in2", "log", "out", "fired", app+".dlq")
	if err != nil {
		w.t.Fatal(err)
	}
	w.c = c
	defer c.Close()
	w.workers = 1 + w.pick(3)
	fs := []*vfs.MemFS{vfs.NewCrashableMem(), vfs.NewCrashableMem()}
	procs := []*process{w.start("a", fs[0])}
	two := w.pick(2) == 0
	if two {
		procs = append(procs, w.start("b", fs[1]))
	}
	stop, sampled := make(chan struct{}), make(chan struct{})
	go w.sample(&procs, stop, sampled)
	produced := make(chan struct{})
	go w.produce(produced)
	for range 6 + w.pick(6) {
		time.Sleep(time.Duration(w.pick(1500)) * time.Millisecond)
		w.trouble(procs)
		w.mu.Lock()
		list := append([]*process(nil), procs...)
		w.mu.Unlock()
		for i, p := range list {
			if p.dead() {
				p.kill()
				time.Sleep(time.Duration(w.pick(3000)) * time.Millisecond)
				next := w.start(p.name, p.crash)
				w.mu.Lock()
				procs[i] = next
				w.mu.Unlock()
			}
		}
	}
	<-produced
	w.c.LoseAnswers(kmsg.EndTxn, 0)
	w.hits["answer lost"] += w.c.Lost()
	w.settleDown(procs)
	close(stop)
	<-sampled
	for _, p := range procs {
		p.mu.Lock()
		p.dieAt = ""
		p.mu.Unlock()
		p.cancel()
		if <-p.done; p.err != nil && !p.dead() {
			w.errs = append(w.errs, fmt.Errorf("process %s: %w", p.name, p.err))
		}
	}
	w.collect(procs)
	w.errs = append(w.errs, w.judgeTimers())
}

// trouble makes one thing go wrong.
func (w *crashRun) trouble(procs []*process) {
	p := procs[w.pick(len(procs))]
	switch w.pick(8) {
	case 0, 1, 2:
		edges := []string{"flushed", "produced", "written", "ended", "applied"}
		p.mu.Lock()
		p.dieAt = edges[w.pick(len(edges))]
		p.mu.Unlock()
		time.Sleep(400 * time.Millisecond)
	case 3:
		p.kill()
	case 4:
		keys := []kmsg.Key{kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.Heartbeat, kmsg.AddPartitionsToTxn, kmsg.InitProducerID, kmsg.OffsetFetch, kmsg.JoinGroup, kmsg.SyncGroup}
		errs := []*kerr.Error{kerr.UnknownServerError, kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.RequestTimedOut, kerr.ConcurrentTransactions, kerr.RebalanceInProgress, kerr.NotLeaderForPartition, kerr.UnknownMemberID, kerr.InvalidProducerEpoch, kerr.TransactionAbortable}
		f := kfake.Fault{Keys: []kmsg.Key{keys[w.pick(len(keys))]}, Err: errs[w.pick(len(errs))], Count: 1 + w.pick(3), TopLevel: w.pick(2) == 0}
		handle := w.c.Fault(f)
		time.Sleep(time.Second)
		if handle.Hits() > 0 {
			w.hit("request failed")
		}
		handle.Remove()
	case 5:
		w.c.ShufflePartitionLeaders()
		w.hit("leaders moved")
	case 6:
		w.c.RehashCoordinators()
		w.hit("coordinators moved")
	case 7:
		w.c.LoseAnswers(kmsg.EndTxn, 1+w.pick(2))
		time.Sleep(500 * time.Millisecond)
	}
}

// produce writes the inputs: some refused, some poison, some in transactions that abort.
func (w *crashRun) produce(done chan struct{}) {
	defer close(done)
	cl := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	defer cl.Close()
	txn := w.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("feeder"), kgo.ProducerLinger(0))
	defer txn.Close()
	ctx := context.Background()
	rec := func(i int) *kgo.Record {
		value := strconv.Itoa(1 + w.pick(100))
		switch w.pick(60) {
		case 0:
			value = "bad"
		case 1:
			value = "poison"
		}
		return &kgo.Record{Topic: inputs()[w.pick(2)], Partition: int32(w.pick(parts)), Key: fmt.Appendf(nil, "k%d", w.pick(12)), Value: []byte(value)}
	}
	for i := range 60 {
		if i%10 == 9 { // records that must never be seen, or a transaction of the mirror's kind
			end := kgo.TransactionEndTry(w.pick(2) == 0)
			if err := txn.BeginTransaction(); err == nil {
				txn.ProduceSync(ctx, rec(i), rec(i))
				_ = txn.EndTransaction(ctx, end)
			}
		}
		var rs []*kgo.Record
		for range 1 + w.pick(12) {
			rs = append(rs, rec(i))
		}
		if err := cl.ProduceSync(ctx, rs...).FirstErr(); err != nil {
			w.t.Logf("produce: %v", err)
		}
		time.Sleep(time.Duration(w.pick(300)) * time.Millisecond)
	}
}

// settleDown waits until everything that was produced is folded and applied, and the last wall timers have fired. Whoever was
// told to die may do so until then, also in a transaction of timers only.
func (w *crashRun) settleDown(procs []*process) {
	cl := w.client()
	defer cl.Close()
	adm := kadm.NewClient(cl)
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		for i, p := range procs {
			if p.dead() {
				p.kill()
				w.mu.Lock()
				procs[i] = w.start(p.name, p.crash)
				w.mu.Unlock()
			}
		}
		ends, err := adm.ListEndOffsets(context.Background(), inputs()...)
		if err != nil {
			continue
		}
		stored := stored(procs)
		caught := true
		ends.Each(func(o kadm.ListedOffset) {
			if stored[recordPos{o.Topic, int64(o.Partition)}] < o.Offset {
				caught = false
			}
		})
		if caught && !wallTimers(procs) {
			return
		}
	}
	for _, p := range procs {
		w.errs = append(w.errs, fmt.Errorf("three minutes of quiet were not enough: %s: %+v", p.name, p.rt.Status()))
	}
}

// sample looks at running stores and then at the group.
func (w *crashRun) sample(procs *[]*process, stop, done chan struct{}) {
	defer close(done)
	cl := w.client()
	defer cl.Close()
	adm := kadm.NewClient(cl)
	for {
		select {
		case <-stop:
			return
		case <-time.After(70 * time.Millisecond):
		}
		w.mu.Lock()
		list := append([]*process(nil), *procs...)
		w.mu.Unlock()
		stored := stored(list)
		got, err := adm.FetchOffsets(kadm.RequireStable(context.Background()), app)
		if err != nil || got.Error() != nil {
			continue
		}
		for q, s := range stored {
			if o, ok := got.Lookup(q.topic, int32(q.offset)); ok {
				w.h.Samples = append(w.h.Samples, invariant.Sample{Partition: int32(q.offset), Topic: q.topic, Stored: s, Committed: o.At})
			}
		}
	}
}

// wallTimers reports whether a timer of the wall clock waits, by the store that is furthest with its partition.
func wallTimers(procs []*process) bool {
	best, waits := map[int32]int64{}, map[int32]bool{}
	for _, p := range procs {
		snap, err := p.rt.Snapshot()
		if err != nil {
			continue
		}
		for q := range int32(parts) {
			m, err := snap.Meta(q)
			if err != nil || m.ChangelogNext < best[q] {
				continue
			}
			best[q], waits[q] = m.ChangelogNext, false
			_ = snap.Scan(q, stream.TimerTable, []byte{byte(stream.WallTime)}, func(_, _ []byte) error {
				waits[q] = true
				return nil
			})
		}
		_ = snap.Close()
	}
	for _, w := range waits {
		if w {
			return true
		}
	}
	return false
}

// stored is how far the stores are with each partition of each input.
func stored(procs []*process) map[recordPos]int64 {
	out := map[recordPos]int64{}
	for _, p := range procs {
		snap, err := p.rt.Snapshot()
		if err != nil {
			continue
		}
		for q := range int32(parts) {
			if m, err := snap.Meta(q); err == nil {
				for topic, next := range changelogpb.NextOffsets(m.GetMarker().GetInputs()) {
					at := recordPos{topic, int64(q)}
					out[at] = max(out[at], next)
				}
			}
		}
		_ = snap.Close()
	}
	return out
}

// collect reads what the run left behind.
func (w *crashRun) collect(procs []*process) {
	w.left = map[string][]*kgo.Record{}
	for _, topic := range []string{"in", "in2", "out", "fired", "log", app + ".dlq"} {
		w.left[topic] = w.read(topic)
	}
	for _, r := range slices.Concat(w.left["in"], w.left["in2"]) {
		n, err := strconv.ParseInt(string(r.Value), 10, 64)
		if err != nil {
			n = 0
		}
		w.h.Inputs = append(w.h.Inputs, invariant.Input{At: at(r), Key: string(r.Key), Amount: n})
	}
	for _, r := range w.left["out"] {
		w.h.Outputs = append(w.h.Outputs, invariant.Output{At: at(r), Cause: origin(string(r.Value))})
	}
	for _, r := range w.left[app+".dlq"] {
		w.h.DeadLetters = append(w.h.DeadLetters, origin(string(r.Key)))
	}
	for _, r := range w.left["log"] {
		c := invariant.Change{At: at(r)}
		m, err := changelogpb.DecodeMarker(r.Key, r.Value)
		switch {
		case err != nil:
			w.t.Fatal(err)
		case m != nil:
			c.Marker = &invariant.Marker{Sequence: m.Sequence, Epoch: m.OwnerEpoch, Next: changelogpb.NextOffsets(m.Inputs)}
		case changelogpb.IsSystem(r.Key), r.Key[0] == stream.TimerTable: // judgeTimers looks at those
			continue
		default:
			c.Key, c.Value, c.Delete = string(r.Key[1:]), string(r.Value), r.Value == nil
		}
		w.h.Changelog = append(w.h.Changelog, c)
	}
	w.stores(procs)
}

// stores reads each partition from the process that got furthest with it.
func (w *crashRun) stores(procs []*process) {
	cl := w.client()
	defer cl.Close()
	got, err := kadm.NewClient(cl).FetchOffsets(context.Background(), app)
	if err != nil {
		w.t.Fatal(err)
	}
	w.timers = map[int32]map[string]bool{}
	w.h.Stores, w.h.Committed = map[int32]invariant.Store{}, map[int32]map[string]int64{}
	got.Each(func(o kadm.OffsetResponse) {
		if w.h.Committed[o.Partition] == nil {
			w.h.Committed[o.Partition] = map[string]int64{}
		}
		w.h.Committed[o.Partition][o.Topic] = o.At
	})
	for _, p := range procs {
		cfg := Config{Kafka: w.kafka(), Dir: "/state", FS: p.fs, Log: &w.log}
		cfg.Complete()
		s, err := store.Open(cfg.database(), app)
		if err != nil {
			w.t.Fatal(err)
		}
		for q := range int32(parts) {
			m, err := s.Meta(s.DB, q)
			if err != nil {
				w.t.Fatal(err)
			}
			if m.ChangelogNext <= w.h.Stores[q].ChangelogNext {
				continue
			}
			st := invariant.Store{State: map[string]string{}, ChangelogNext: m.ChangelogNext, Next: changelogpb.NextOffsets(m.GetMarker().GetInputs())}
			if err := store.Scan(s.DB, store.Key(q, 1, nil), func(k, v []byte) error {
				st.State[string(k)] = string(v)
				return nil
			}); err != nil {
				w.t.Fatal(err)
			}
			w.h.Stores[q], w.timers[q] = st, map[string]bool{}
			if err := store.Scan(s.DB, store.Key(q, stream.TimerTable, nil), func(k, _ []byte) error {
				w.timers[q][string(k)] = true
				return nil
			}); err != nil {
				w.t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			w.t.Fatal(err)
		}
	}
}

func at(r *kgo.Record) invariant.Position {
	return invariant.Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset}
}

func origin(s string) invariant.Position {
	f := strings.Split(s, "/")
	partition, _ := strconv.Atoi(f[1])
	offset, _ := strconv.ParseInt(f[2], 10, 64)
	return invariant.Position{Topic: f[0], Partition: int32(partition), Offset: offset}
}

// read gives all committed records of a topic, partition by partition.
func (w *crashRun) read(topic string) []*kgo.Record {
	w.t.Helper()
	list, err := w.c.Read(context.Background(), topic)
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

func recount(in []invariant.Input) map[int32]map[string]string {
	out := map[int32]map[string]string{}
	sums := map[int32]map[string]int64{}
	for _, r := range in {
		if sums[r.At.Partition] == nil {
			sums[r.At.Partition], out[r.At.Partition] = map[string]int64{}, map[string]string{}
		}
		sums[r.At.Partition][r.Key] += r.Amount
		out[r.At.Partition][r.Key] = string(binary.BigEndian.AppendUint64(nil, uint64(sums[r.At.Partition][r.Key])))
	}
	return out
}

func total(v string) (int64, error) { return int64(binary.BigEndian.Uint64([]byte(v))), nil }

func judge(h *invariant.History) error {
	return errors.Join(invariant.ExactlyOnce(h), invariant.Fold(h, recount), invariant.Sum(h, total), invariant.ChangelogState(h), invariant.StoreNotAhead(h), invariant.OutputCause(h))
}

// TestCrashes runs BUBBLE_RUNS worlds (default 200) and judges each.
func TestCrashes(t *testing.T) {
	runs, from := 200, 0
	if s := os.Getenv("BUBBLE_RUNS"); s != "" {
		runs, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("BUBBLE_SEED"); s != "" {
		from, _ = strconv.Atoi(s)
	}
	all := map[string]int{}
	var mu sync.Mutex
	t.Run("worlds", func(t *testing.T) {
		for i := range runs {
			seed := uint64(from + i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				var mut mutation
				if seed%2 == 1 { // without timers, so that changes may wait for the store
					mut.core = newLedger
				}
				verdict, h, hits := runBubble(t, seed, mut)
				if verdict != nil {
					t.Errorf("seed %d (%v): %v", seed, hits, verdict)
				}
				mu.Lock()
				defer mu.Unlock()
				for k, n := range hits {
					all[k] += n
				}
				all["inputs"] += len(h.Inputs)
				all["letters"] += len(h.DeadLetters)
			})
		}
	})
	t.Logf("%v", all)
	if runs >= 100 {
		for _, must := range []string{"killed flushed", "killed produced", "killed written", "killed ended", "killed applied", "killed anywhere", "answer lost", "request failed", "leaders moved", "coordinators moved", "letters"} {
			if all[must] == 0 {
				t.Errorf("in %d runs never happened: %s", runs, must)
			}
		}
	}
}

// TestMutants runs the runtime spoiled on purpose: worlds that let it pass would prove nothing.
func TestMutants(t *testing.T) {
	for name, mut := range map[string]mutation{
		"reads uncommitted": {opts: []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadUncommitted())}},
		"applies before the end": {failpoint: func(w *worker, at string) error {
			if at == "produced" {
				if err := w.sess.Client().Flush(context.Background()); err != nil {
					return err
				}
				return w.apply(w.commits)
			}
			return nil
		}},
		"marker lies": {failpoint: func(w *worker, at string) error {
			for _, p := range w.commits {
				if at == "flushed" && p.marker.Inputs[0].Next > 3 {
					p.marker.Inputs[0].Next--
				}
			}
			return nil
		}},
		"sequence stands still": {failpoint: func(w *worker, at string) error {
			for _, p := range w.commits {
				if at == "flushed" {
					p.marker.Sequence = 1
				}
			}
			return nil
		}},
		"change forgotten": {failpoint: func(w *worker, at string) error {
			for _, p := range w.commits {
				if n := len(p.task.changes.List); at == "flushed" && n > 3 {
					p.task.changes.List = p.task.changes.List[1:]
				}
			}
			return nil
		}},
		"changelog forgotten": {failpoint: func(w *worker, at string) error {
			for _, p := range w.commits {
				for i := range p.task.changes.List {
					if c := &p.task.changes.List[i]; at == "flushed" && c.Op == 1 && i == 2 {
						c.Table = 200
					}
				}
			}
			return nil
		}},
		"poison leaves a trace": {core: func(t stream.Task) (stream.Handler, error) {
			h, err := newLedger(t)
			return sloppy{h.(*ledger)}, err
		}},
		"timer set and forgotten": {failpoint: func(w *worker, at string) error {
			if at == "flushed" {
				spoilTimers(w.commits, stream.OpPut)
			}
			return nil
		}},
		"timer fired and kept": {failpoint: func(w *worker, at string) error {
			if at == "flushed" {
				spoilTimers(w.commits, stream.OpDelete)
			}
			return nil
		}},
		"dies in silence": {failpoint: func(w *worker, at string) error {
			if at == "ended" && w.id == 1 {
				return errKilled
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(25) {
				if verdict, _, _ := runBubble(t, seed, mut); verdict != nil {
					t.Logf("caught in world %d: %.200s", seed, verdict)
					return
				}
			}
			t.Error("25 worlds did not notice")
		})
	}
}

// sloppy swallows a panic and keeps what the record had done by then.
type sloppy struct{ *ledger }

func (s sloppy) Fold(b *stream.Batch) (err error) {
	one := *b
	for i := range b.Records {
		one.Records, one.Rejects = b.Records[i:i+1], nil
		func() {
			defer func() {
				if v := recover(); v != nil {
					s.dirty[string(b.Records[i].Key)] = true
					b.Reject(i, "panic", "swallowed")
				}
			}()
			err = errors.Join(err, s.ledger.Fold(&one))
		}()
		if len(one.Rejects) > 0 {
			b.Reject(i, "bad", "")
		}
	}
	return err
}
