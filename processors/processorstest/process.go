package processorstest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/failpoint"
	"github.com/weirhq/weir/processors/internal/simkafka"
)

// Failpoint is a moment in a commit at which a process can be killed.
type Failpoint = failpoint.Point

// The edges of a commit, in their order.
const (
	Flushed  = failpoint.Flushed  // the handlers gave their changes; nothing is produced
	Produced = failpoint.Produced // everything is handed to the client; the brokers may have some of it
	Written  = failpoint.Written  // the brokers have all of it, and the transaction is open
	Ended    = failpoint.Ended    // the brokers know the outcome; the store knows nothing of it
	Applied  = failpoint.Applied  // the store has it
)

// Failpoints lists them, in their order.
func Failpoints() []Failpoint { return []Failpoint{Flushed, Produced, Written, Ended, Applied} }

// What Await waited for.
var (
	// ErrKilled: the process was killed.
	ErrKilled = errors.New("killed")
	// ErrFrozen: the process is frozen at an edge.
	ErrFrozen = errors.New("frozen")
)

// Process is one life of a process: its runtime, its disk and its link to the brokers.
type Process struct {
	harness *Harness
	name    string
	fs      *vfs.MemFS
	rt      *processors.Runtime
	link    *simkafka.Link

	cancel context.CancelFunc
	died   chan struct{} // closed when it was killed
	done   chan struct{} // closed when Run has returned
	err    error         // of Run, once done

	mu       sync.Mutex
	dieAt    Failpoint
	freezeAt Failpoint
	killed   bool
	frozen   bool
	froze    chan struct{} // closed when it froze at freezeAt
}

// Start starts a process. One that had this name before must be killed or stopped; its disk is what that left.
func (w *Harness) Start(name string) *Process {
	w.t.Helper()
	for _, p := range w.running() {
		if p.name == name {
			w.t.Fatalf("process %s runs: kill or stop it before it is started again", name)
		}
	}
	w.mu.Lock()
	if w.disks[name] == nil {
		w.disks[name] = vfs.NewCrashableMem()
	}
	p := &Process{harness: w, name: name, fs: w.disks[name], link: w.sim.Link(), died: make(chan struct{}), done: make(chan struct{}), froze: make(chan struct{})}
	w.mu.Unlock()

	cfg := w.options.Config
	cfg.Kafka.Brokers, cfg.Kafka.Options = w.sim.ListenAddrs(), append(p.link.Options(), cfg.Kafka.Options...)
	cfg.Dir, cfg.FS, cfg.Instance = "/state", p.fs, name
	log := w.log.With().Str("process", name).Logger()
	cfg.Log = &log
	if cfg.Workers == 0 {
		cfg.Workers = 2
	}
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = 1 << 20
	}
	var err error
	if p.rt, err = processors.New(cfg, w.options.Processor); err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(failpoint.WithHook(context.Background(), p.atFailpoint))
	p.cancel = cancel
	go func() {
		defer close(p.done)
		p.err = p.rt.Run(ctx)
	}()
	w.mu.Lock()
	w.procs = append(w.procs, p)
	w.mu.Unlock()
	return p
}

// NewDisk takes the disk of a process that is not running away: its next life begins with an empty one.
func (w *Harness) NewDisk(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.disks, name)
}

// Runtime is the process's runtime: for Status and Snapshot.
func (p *Process) Runtime() *processors.Runtime { return p.rt }

// atFailpoint freezes and dies where it was told to, holds a frozen process up, and lets a dead one do nothing more.
func (p *Process) atFailpoint(at Failpoint) error {
	p.mu.Lock()
	if p.freezeAt == at && !p.killed {
		p.freezeAt, p.frozen = "", true
		p.link.Freeze()
		close(p.froze)
		p.froze = make(chan struct{})
	}
	p.mu.Unlock()
	p.link.Pass()
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed && p.dieAt == at {
		p.die()
	}
	if p.killed {
		return ErrKilled
	}
	return nil
}

// die keeps the disk as a crash of the machine would leave it now, and lets nothing more out. The lock is held.
func (p *Process) die() {
	p.killed = true
	p.link.Cut()
	p.link.Thaw()
	p.harness.mu.Lock()
	p.harness.disks[p.name] = p.fs.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: p.harness.rng.IntN(101), RNG: rand.New(rand.NewPCG(p.harness.rng.Uint64(), 1))})
	p.harness.mu.Unlock()
	p.cancel()
	close(p.died)
}

// Kill kills the process now. Its connections break, what it did not sync is lost in part.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		p.die()
	}
}

// KillAt kills the process when it next comes to an edge; see Await.
func (p *Process) KillAt(at Failpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dieAt = at
}

// Await waits until the process has been killed (ErrKilled), is frozen at the edge of FreezeAt (ErrFrozen), or has ended by
// itself (the error of Run). After ten minutes the test fails.
func (p *Process) Await() error {
	p.harness.t.Helper()
	p.mu.Lock()
	froze := p.froze
	if p.frozen {
		p.mu.Unlock()
		return ErrFrozen
	}
	p.mu.Unlock()
	select {
	case <-froze:
		return ErrFrozen
	case <-p.died:
	case <-p.done:
	case <-time.After(waitLimit):
		p.harness.t.Fatalf("process %s still runs after %s: %+v", p.name, waitLimit, p.rt.Status())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.killed {
		return ErrKilled
	}
	return p.err
}

// Stop stops the process in order. An error fails the test, and so does one that has not ended after ten minutes.
func (p *Process) Stop() {
	p.harness.t.Helper()
	if err := p.stop(); err != nil {
		p.harness.t.Errorf("process %s: %v", p.name, err)
	}
}

func (p *Process) stop() error {
	p.cancel()
	select {
	case <-p.done:
		return p.err
	case <-time.After(waitLimit):
		return fmt.Errorf("it has not ended %s after it was told to: %+v", waitLimit, p.rt.Status())
	}
}

// Freeze stops the process as SIGSTOP does: it commits nothing and nothing reaches it or leaves it, until Thaw. What it
// wanted to write is written then, however late.
func (p *Process) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		p.frozen = true
		p.link.Freeze()
	}
}

// FreezeAt freezes the process when it next comes to an edge; see Await. At Written it holds a transaction open.
func (p *Process) FreezeAt(at Failpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freezeAt = at
}

// Thaw ends a Freeze, and forgets a FreezeAt that has not come.
func (p *Process) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen, p.freezeAt = false, ""
	p.link.Thaw()
}

// Cut parts the process from all brokers: its connections break and no other comes about, until Mend.
func (p *Process) Cut() { p.link.Cut() }

// Heal ends a Cut.
func (p *Process) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		p.link.Heal()
	}
}

// Ended says whether the process was killed or has ended.
func (p *Process) Ended() bool {
	select {
	case <-p.died:
		return true
	case <-p.done:
		return true
	default:
		return false
	}
}

// at is the status of a partition that this process owns, and can work on.
func (p *Process) at(partition int32) (processors.Status, bool) {
	p.mu.Lock()
	frozen := p.frozen
	p.mu.Unlock()
	for _, s := range p.rt.Status() {
		if s.Partition == partition && s.State != "standby" && !frozen {
			return s, true
		}
	}
	return processors.Status{}, false
}
