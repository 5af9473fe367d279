package processorstest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/internal/failpoint"
	"github.com/weirhq/weir/processors/internal/simkafka"
	"github.com/weirhq/weir/processors/processorstest/crashfs"
	"github.com/weirhq/weir/stream"
)

// Process is one life of a process, from its start to its end: its runtime, its disk and its
// connection to the brokers.
type Process struct {
	harness *Harness
	name    string
	fs      *crashfs.FS
	ownFS   bool // the runtime works on fs itself
	rt      *processors.Runtime
	link    *simkafka.Link

	cancel context.CancelFunc
	died   chan struct{} // closed when the process was killed
	done   chan struct{} // closed when Run has returned
	err    error         // of Run, once done is closed

	mu       sync.Mutex
	dieAt    Failpoint
	killedAt Failpoint
	freezeAt Failpoint
	killed   bool
	frozen   bool
	froze    chan struct{} // closed when the process froze at freezeAt
}

// Start starts a process with the configuration and the processor of Options. A process that had
// this name before must be killed or stopped: the new one gets its disk.
func (h *Harness) Start(name string) *Process {
	h.t.Helper()
	return h.StartWith(name, h.options.Config, h.options.Processor)
}

// StartWith is Start with another configuration, or with another version of the processor. A
// Config.FS that is set replaces the process's own disk. Config.Instance defaults to name.
func (h *Harness) StartWith(name string, cfg processors.Config, proc stream.Processor) *Process {
	h.t.Helper()
	for _, p := range h.lives() {
		if p.name != name {
			continue
		}
		if !p.Ended() {
			h.t.Fatalf("process %s runs: kill or stop it before it is started again", name)
		}
		if h.options.DeliverAfterKill {
			<-p.done
		}
	}
	p := &Process{
		harness: h, name: name, fs: h.Disk(name), link: h.sim.Link(),
		died: make(chan struct{}), done: make(chan struct{}), froze: make(chan struct{}),
	}
	cfg.Kafka.Brokers, cfg.Kafka.Options = h.sim.ListenAddrs(), append(p.link.Options(), cfg.Kafka.Options...)
	if cfg.Dir = StateDir; cfg.FS == nil {
		cfg.FS, p.ownFS = p.fs, true
	}
	if cfg.Instance == "" {
		cfg.Instance = name
	}
	log := h.log.With().Str("process", name).Logger()
	cfg.Log = &log
	if cfg.Workers == 0 {
		cfg.Workers = 2
	}
	if cfg.CacheBytes == 0 {
		cfg.CacheBytes = 1 << 20
	}
	var err error
	if p.rt, err = processors.New(cfg, proc); err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(failpoint.WithHook(context.Background(), p.atFailpoint))
	p.cancel = cancel
	go func() {
		defer close(p.done)
		p.err = p.rt.Run(ctx)
	}()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.procs = append(h.procs, p)
	return p
}

// Name returns the name that the process was started under.
func (p *Process) Name() string { return p.name }

// Runtime returns the runtime of the process, for Status and Snapshot.
func (p *Process) Runtime() *processors.Runtime { return p.rt }

// Status returns the status of a partition in this process; the zero Status if the process has
// nothing to do with the partition.
func (p *Process) Status(partition int32) processors.Status {
	for _, s := range p.rt.Status() {
		if s.Partition == partition {
			return s
		}
	}
	return processors.Status{}
}

// atFailpoint freezes or kills the process where the test asked for it. It holds a frozen process
// until the thaw, and returns ErrKilled to every worker of a killed one.
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
		p.killedAt = at
		p.die()
	}
	if p.killed {
		return ErrKilled
	}
	return nil
}

// die keeps a copy of the disk as a crash of the machine would leave it now, and cuts the process
// off. The lock is held.
func (p *Process) die() {
	p.killed = true
	if !p.harness.options.DeliverAfterKill {
		p.link.Cut()
	}
	p.link.Thaw()
	p.harness.mu.Lock()
	rng := p.harness.rng
	p.harness.disks[p.name] = p.fs.CrashClone(
		vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rand.New(rand.NewPCG(rng.Uint64(), 1))})
	p.harness.mu.Unlock()
	p.cancel()
	close(p.died)
}

// Kill kills the process now. Its connections break, and its disk loses a part of what was not
// synced.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		p.die()
	}
}

// KillAt kills the process when it next reaches a failpoint; see Await.
func (p *Process) KillAt(at Failpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dieAt = at
}

// KilledAt returns the failpoint at which KillAt killed the process; empty if it did not.
func (p *Process) KilledAt() Failpoint {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killedAt
}

// Await waits until the process was killed (ErrKilled), is frozen at the failpoint of FreezeAt
// (ErrFrozen), or has ended by itself (the error of Run). After ten minutes the test fails.
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

// Stop ends the process in the usual way. An error of Run fails the test, and so does a process
// that has not ended after ten minutes.
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
		return fmt.Errorf("the process has not ended %s after its stop: %+v", waitLimit, p.rt.Status())
	}
}

// Freeze stops the process as SIGSTOP does. Until Thaw it commits nothing, and nothing reaches it
// or leaves it. What it was about to write is written after the thaw, however late that is.
func (p *Process) Freeze() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		p.frozen = true
		p.link.Freeze()
	}
}

// FreezeAt freezes the process when it next reaches a failpoint; see Await. At Written it holds a
// transaction open.
func (p *Process) FreezeAt(at Failpoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freezeAt = at
}

// Thaw ends a Freeze, and cancels a FreezeAt whose failpoint was not reached.
func (p *Process) Thaw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.frozen, p.freezeAt = false, ""
	p.link.Thaw()
}

// Cut separates the process from all brokers: its connections break, and new ones fail until Heal.
func (p *Process) Cut() { p.link.Cut() }

// Heal ends a Cut.
func (p *Process) Heal() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.killed {
		p.link.Heal()
	}
}

// Ended reports whether the process was killed or has ended.
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

// owns returns the status of a partition that this process owns. A frozen process owns none.
func (p *Process) owns(partition int32) (processors.Status, bool) {
	p.mu.Lock()
	frozen := p.frozen
	p.mu.Unlock()
	s := p.Status(partition)
	return s, s.State != "" && s.State != processors.StateStandby && !frozen
}
