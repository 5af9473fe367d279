//go:build synctests

package processors_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/ledger"
	"github.com/weirhq/weir/processors/processorstest"
	"github.com/weirhq/weir/stream"
)

// parts is the number of partitions of every topic.
const parts = 4

// crashRun runs the ledger while processes are killed at every failpoint of the commit cycle,
// brokers fail requests or lose answers, and leaders and coordinators move.
type crashRun struct {
	*processorstest.Harness
	t *testing.T

	mu     sync.Mutex
	rng    *rand.Rand
	counts map[string]int // what happened, to know that the run was not empty
	errs   []error        // what went wrong
	procs  []*processorstest.Process
}

// mutation is a bug that a run injects.
type mutation struct {
	opts      []kgo.Opt
	failpoint func(w *processors.Worker, at string) error
	handler   func(stream.Task) (stream.Handler, error) // instead of ledger.NewTimed; its timers are not checked
	noRefold  bool
}

func (r *crashRun) count(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[what]++
}

func (r *crashRun) pick(n int) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.rng.IntN(n)
}

// crashOptions are the options of a crashRun with a random number of workers.
func crashOptions(seed uint64, rng *rand.Rand) processorstest.Options {
	workers := 1 + rng.IntN(3)
	cfg := processors.Config{Workers: workers, Standbys: workers % 2, RemainInGroup: true, CommitIntervalMax: 300 * time.Millisecond, PollRecords: 10}
	cfg.SetRefreshLag(10)
	return processorstest.Options{
		Processor: ledger.TimedProcessor("in", "in2"), Config: cfg, Partitions: parts, Seed: seed,
		DeliverAfterKill: true, CheckInterval: 70 * time.Millisecond,
	}
}

// runCrashes is one run. It returns what the checks found.
func runCrashes(t *testing.T, seed uint64, mut mutation) (verdict error, counts map[string]int) {
	rng := rand.New(rand.NewPCG(seed, 7))
	o := crashOptions(seed, rng)
	o.NoRefold = mut.noRefold
	o.Config.Kafka.Options = mut.opts
	if mut.failpoint != nil {
		o.Config.SetFailpoint(mut.failpoint)
	}
	if mut.handler != nil {
		o.Processor.New = mut.handler
	}
	var r *crashRun
	verdict = processorstest.CheckRun(t, o, func(t *testing.T, h *processorstest.Harness) {
		r = &crashRun{Harness: h, t: t, rng: rng, counts: map[string]int{}}
		r.run(mut.handler == nil)
	})
	if r == nil {
		return verdict, nil
	}
	return errors.Join(append(r.errs, verdict)...), r.counts
}

func (r *crashRun) run(timed bool) {
	r.procs = []*processorstest.Process{r.Start("a")}
	if r.pick(2) == 0 {
		r.procs = append(r.procs, r.Start("b"))
	}
	produced := make(chan struct{})
	go r.produce(produced)
	for range 6 + r.pick(6) {
		time.Sleep(time.Duration(r.pick(1500)) * time.Millisecond)
		r.injectFault()
		r.restartKilled(3 * time.Second)
	}
	<-produced
	r.LoseAnswers(kmsg.EndTxn, 0)
	r.counts["answer lost"] += r.LostAnswers()
	r.settle(3 * time.Minute)
	for _, p := range r.procs {
		p.KillAt("")
		if p.Ended() {
			r.errs = append(r.errs, fmt.Errorf("process %s ended: %w", p.Name(), p.Await()))
		}
	}
	r.check(timed)
}

// restartKilled starts every process that was killed again, after a random pause.
func (r *crashRun) restartKilled(maxPause time.Duration) {
	for i, p := range r.procs {
		if !p.Ended() || !errors.Is(p.Await(), processorstest.ErrKilled) {
			continue
		}
		at := p.KilledAt()
		if at == "" {
			at = "anywhere"
		}
		r.count("killed " + string(at))
		if maxPause > 0 {
			time.Sleep(time.Duration(r.pick(int(maxPause.Milliseconds()))) * time.Millisecond)
		}
		r.procs[i] = r.Start(p.Name())
	}
}

// injectFault injects one random fault.
func (r *crashRun) injectFault() {
	p := r.procs[r.pick(len(r.procs))]
	switch r.pick(8) {
	case 0, 1, 2:
		p.KillAt(processorstest.Failpoints()[r.pick(len(processorstest.Failpoints()))])
		time.Sleep(400 * time.Millisecond)
	case 3:
		p.Kill()
	case 4:
		r.failRequests()
	case 5:
		r.MoveLeaders()
		r.count("leaders moved")
	case 6:
		r.MoveCoordinators()
		r.count("coordinators moved")
	case 7:
		r.LoseAnswers(kmsg.EndTxn, 1+r.pick(2))
		time.Sleep(500 * time.Millisecond)
	}
}

// failRequests fails some requests of a random kind with a random error, for a second.
func (r *crashRun) failRequests() {
	keys := []kmsg.Key{kmsg.Produce, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.Heartbeat, kmsg.AddPartitionsToTxn, kmsg.InitProducerID, kmsg.OffsetFetch, kmsg.JoinGroup, kmsg.SyncGroup}
	errs := []*kerr.Error{kerr.UnknownServerError, kerr.NotCoordinator, kerr.CoordinatorNotAvailable, kerr.CoordinatorLoadInProgress, kerr.RequestTimedOut, kerr.ConcurrentTransactions, kerr.RebalanceInProgress, kerr.NotLeaderForPartition, kerr.UnknownMemberID, kerr.InvalidProducerEpoch, kerr.TransactionAbortable}
	fault := r.Cluster.Fault(kfake.Fault{Keys: []kmsg.Key{keys[r.pick(len(keys))]}, Err: errs[r.pick(len(errs))], Count: 1 + r.pick(3), TopLevel: r.pick(2) == 0})
	time.Sleep(time.Second)
	if fault.Hits() > 0 {
		r.count("request failed")
	}
	fault.Remove()
}

// produce writes the inputs. Some records are rejected, some panic, and some are in transactions
// that abort.
func (r *crashRun) produce(done chan struct{}) {
	defer close(done)
	cl := r.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0))
	txn := r.Client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.TransactionalID("feeder"), kgo.ProducerLinger(0))
	ctx := context.Background()
	for i := range 60 {
		if i%10 == 9 { // aborted records must never be folded; committed ones have control records behind them
			end := kgo.TransactionEndTry(r.pick(2) == 0)
			if err := txn.BeginTransaction(); err == nil {
				txn.ProduceSync(ctx, r.input(), r.input())
				_ = txn.EndTransaction(ctx, end)
			}
		}
		var rs []*kgo.Record
		for range 1 + r.pick(12) {
			rs = append(rs, r.input())
		}
		if err := cl.ProduceSync(ctx, rs...).FirstErr(); err != nil {
			r.t.Logf("produce: %v", err)
		}
		time.Sleep(time.Duration(r.pick(300)) * time.Millisecond)
	}
}

// input returns a random input record.
func (r *crashRun) input() *kgo.Record {
	value := strconv.Itoa(1 + r.pick(100))
	switch r.pick(60) {
	case 0:
		value = "bad"
	case 1:
		value = "poison"
	}
	return &kgo.Record{Topic: []string{"in", "in2"}[r.pick(2)], Partition: int32(r.pick(parts)), Key: fmt.Appendf(nil, "k%d", r.pick(12)), Value: []byte(value)}
}

// settle waits until the stores have every input record and the last wall timers have fired. A
// process with a pending KillAt may still be killed, also in a transaction with timers alone.
func (r *crashRun) settle(limit time.Duration) {
	behind := ""
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		r.restartKilled(0)
		if behind = r.Behind(); behind != "" {
			continue
		}
		if behind = r.pendingWallTimers(); behind == "" {
			return
		}
	}
	r.errs = append(r.errs, fmt.Errorf("not caught up after %s without faults: %s", limit, behind))
}

// pendingWallTimers names a partition with a timer of the wall clock; empty without such a timer.
func (r *crashRun) pendingWallTimers() string {
	for partition, s := range r.readStores() {
		for key := range s.timers {
			if key[0] == byte(stream.WallTime) {
				return fmt.Sprintf("partition %d has wall timers", partition)
			}
		}
	}
	return ""
}

// TestCrashes checks WEIR_TEST_CRASH_RUNS runs (40 by default) from WEIR_TEST_CRASH_SEED on. Runs
// with an odd seed have no timers, so that their changes may wait in the write buffer.
func TestCrashes(t *testing.T) {
	runs, from := 40, 0
	if s := os.Getenv("WEIR_TEST_CRASH_RUNS"); s != "" {
		runs, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("WEIR_TEST_CRASH_SEED"); s != "" {
		from, _ = strconv.Atoi(s)
	}
	all := map[string]int{}
	var mu sync.Mutex
	t.Run("seeds", func(t *testing.T) {
		for i := range runs {
			seed := uint64(from + i)
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				var mut mutation
				if seed%2 == 1 {
					mut.handler = ledger.New
				}
				verdict, counts := runCrashes(t, seed, mut)
				if verdict != nil {
					t.Errorf("seed %d (%v): %v", seed, counts, verdict)
				}
				mu.Lock()
				defer mu.Unlock()
				for k, n := range counts {
					all[k] += n
				}
			})
		}
	})
	t.Logf("%v", all)
	if runs >= 100 {
		for _, must := range []string{"killed flushed", "killed produced", "killed written", "killed ended", "killed applied", "killed anywhere", "answer lost", "request failed", "leaders moved", "coordinators moved", "letters"} {
			if all[must] == 0 {
				t.Errorf("in %d runs this never happened: %s", runs, must)
			}
		}
	}
}

// TestMutants injects bugs, and requires that a check reports each of them within 25 runs.
func TestMutants(t *testing.T) {
	mutants := map[string]mutation{
		"reads uncommitted":      {opts: []kgo.Opt{kgo.FetchIsolationLevel(kgo.ReadUncommitted())}},
		"a panic leaves a trace": {handler: newPanicSwallower},
	}
	for name, failpoint := range processors.Mutations() {
		mutants[name] = mutation{failpoint: failpoint}
	}
	for name, mut := range mutants {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(25) {
				if verdict, _ := runCrashes(t, seed, mut); verdict != nil {
					t.Logf("reported in run %d: %.200s", seed, verdict)
					return
				}
			}
			t.Error("25 runs did not report it")
		})
	}
}

// panicSwallower recovers from the panic of a record and keeps what the record had changed by then.
type panicSwallower struct{ *ledger.Handler }

func newPanicSwallower(t stream.Task) (stream.Handler, error) {
	h, err := ledger.New(t)
	return panicSwallower{h.(*ledger.Handler)}, err
}

func (s panicSwallower) Fold(b *stream.Batch) (err error) {
	one := *b
	for i := range b.Records {
		one.Records, one.Rejects = b.Records[i:i+1], nil
		func() {
			defer func() {
				if v := recover(); v != nil {
					s.Changed[string(b.Records[i].Key)] = true
					b.Reject(i, "panic", "swallowed")
				}
			}()
			err = errors.Join(err, s.Handler.Fold(&one))
		}()
		if len(one.Rejects) > 0 {
			b.Reject(i, "bad", "")
		}
	}
	return err
}
