//go:build synctests

package processors_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/processorstest"
)

// answerRun asks for tickets while processes are killed, frozen and lose answers of the brokers.
type answerRun struct {
	*crashRun
	log    *ticketLog
	mutant bool // commits are reported twice: the order of the reports is not checked
	live   atomic.Pointer[[]*processorstest.Process]

	answered map[int32]map[string]uint64 // numbers that callers got, by partition and id
}

// runAnswers is one run. It returns what the checks found.
func runAnswers(t *testing.T, seed uint64, failpoint func(w *processors.Worker, at string) error) (verdict error, r *answerRun) {
	l := &ticketLog{}
	rng := rand.New(rand.NewPCG(seed, 9))
	cfg := processors.Config{Workers: 1 + rng.IntN(2), Standbys: rng.IntN(2), RemainInGroup: true}
	if failpoint != nil {
		cfg.SetFailpoint(failpoint)
	}
	o := processorstest.Options{
		Processor: l.processor(), Config: cfg, Partitions: parts, Seed: seed, NoRefold: true,
		DeliverAfterKill: true, CheckInterval: 500 * time.Millisecond,
	}
	r = &answerRun{log: l, mutant: failpoint != nil, answered: map[int32]map[string]uint64{}}
	verdict = processorstest.CheckRun(t, o, func(t *testing.T, h *processorstest.Harness) {
		r.crashRun = &crashRun{Harness: h, t: t, rng: rng, counts: map[string]int{}}
		r.run()
	})
	if r.crashRun == nil {
		return verdict, r
	}
	return errors.Join(append(r.errs, verdict)...), r
}

func (r *answerRun) run() {
	r.procs = []*processorstest.Process{r.Start("a"), r.Start("b")}
	r.publish()
	ctx, stop := context.WithCancel(context.Background())
	var asking sync.WaitGroup
	for i := range 4 {
		asking.Go(func() { r.ask(ctx, i) })
	}
	for range 8 {
		<-time.After(time.Duration(r.pick(1500)) * time.Millisecond)
		if r.pick(5) == 0 {
			r.freeze()
		} else {
			r.injectFault()
		}
		r.restartKilled(3 * time.Second)
		r.publish()
		r.Produce("in", int32(r.pick(parts)), "", fmt.Sprint("record", r.pick(1000)))
	}
	stop()
	asking.Wait()
	r.LoseAnswers(kmsg.EndTxn, 0)
	for _, p := range r.procs {
		p.KillAt("")
	}
	r.restartKilled(0)
	r.CaughtUp()
	r.checkAnswers()
}

// freeze freezes a process in a commit, until others have taken its partitions over.
func (r *answerRun) freeze() {
	p := r.procs[r.pick(len(r.procs))]
	p.FreezeAt(processorstest.Failpoints()[r.pick(len(processorstest.Failpoints()))])
	<-time.After(8 * time.Second)
	p.Thaw()
	r.count("frozen")
}

// publish shows the processes to those who ask.
func (r *answerRun) publish() {
	procs := slices.Clone(r.procs)
	r.live.Store(&procs)
}

// ask asks until ctx ends.
func (r *answerRun) ask(ctx context.Context, caller int) {
	hows := []func(context.Context, *processors.Runtime, int32, string) (uint64, error){askPark, askCommitted}
	for n := 0; ctx.Err() == nil; n++ {
		p, id := int32(r.pick(parts)), fmt.Sprintf("%d.%d", caller, n)
		for _, proc := range *r.live.Load() {
			limited, cancel := context.WithTimeout(ctx, 2*time.Second)
			number, err := hows[n%2](limited, proc.Runtime(), p, id)
			cancel()
			if r.note(p, id, number, err) {
				break
			}
		}
		<-time.After(time.Duration(r.pick(400)) * time.Millisecond)
	}
}

// note records an answer. It reports whether there was one.
func (r *answerRun) note(p int32, id string, number uint64, err error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		if r.answered[p] == nil {
			r.answered[p] = map[string]uint64{}
		}
		r.answered[p][id] = number
		r.counts["answered"]++
		return true
	case errors.Is(err, processors.ErrNotCommitted), errors.Is(err, errNoAnswer):
		r.counts["not answered"]++
	}
	return false
}

// checkAnswers compares what callers and handlers learned with what is committed.
func (r *answerRun) checkAnswers() {
	for p, list := range r.answered {
		state := r.State(p, 1)
		for id, n := range list {
			if v := state[id]; len(v) != 8 || binary.BigEndian.Uint64(v) != n {
				r.errs = append(r.errs, fmt.Errorf("partition %d: the answer for %s was %d, and its committed number is %x", p, id, n, v))
			}
		}
		if last := r.State(p, 2)[""]; len(last) != 8 || binary.BigEndian.Uint64(last) != uint64(len(state)) {
			r.errs = append(r.errs, fmt.Errorf("partition %d: %d ids have numbers up to %x", p, len(state), last))
		}
	}
	type transaction struct {
		partition       int32
		epoch, sequence uint64
	}
	committed := map[transaction]bool{}
	for _, rec := range r.Records("log") {
		m, err := changelogpb.DecodeMarker(rec.Key, rec.Value)
		if err != nil {
			r.errs = append(r.errs, err)
		} else if m != nil {
			committed[transaction{rec.Partition, m.GetOwnerEpoch(), m.GetSequence()}] = true
		}
	}
	for _, x := range r.log.reports {
		if !committed[transaction{x.partition, x.epoch, x.sequence}] {
			r.errs = append(r.errs, fmt.Errorf("%+v was reported, and the changelog does not have it", x))
		}
		if x.missing != "" {
			r.errs = append(r.errs, fmt.Errorf("%+v", x))
		}
		if x.order != "" && !r.mutant {
			r.errs = append(r.errs, fmt.Errorf("%+v", x))
		}
	}
}

// TestAnswers: an answer that a caller got is never lost, and no transaction is reported that did
// not commit.
func TestAnswers(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	var mu sync.Mutex
	all := map[string]int{}
	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				verdict, r := runAnswers(t, seed, nil)
				if verdict != nil {
					t.Errorf("seed %d: %v", seed, verdict)
				}
				mu.Lock()
				defer mu.Unlock()
				for k, n := range r.counts {
					all[k] += n
				}
			})
		}
	})
	if t.Logf("%v", all); all["answered"] < 30*int(seeds) || all["not answered"] == 0 {
		t.Error("there were too few answers, or too few faults")
	}
}

// TestAnswerMutants injects bugs, and requires that a check reports each of them within 12 runs.
func TestAnswerMutants(t *testing.T) {
	for name, failpoint := range processors.ReportMutations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(12) {
				if verdict, _ := runAnswers(t, seed, failpoint); verdict != nil {
					t.Logf("reported in run %d: %.200s", seed, verdict)
					return
				}
			}
			t.Error("12 runs did not report it")
		})
	}
}

// TestAnswerOrderMutant: handlers notice a commit that is reported twice.
func TestAnswerOrderMutant(t *testing.T) {
	_, r := runAnswers(t, 0, processors.ReportTwice())
	if !slices.ContainsFunc(r.log.reports, func(x report) bool { return x.order != "" }) {
		t.Errorf("%d reports, and none is out of order", len(r.log.reports))
	}
}
