package node

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors/follower"
)

// remotePart is a part whose Run fails while its other cluster is away. With inside, Run keeps
// trying itself, and only Ready reports it.
type remotePart struct {
	mu     sync.Mutex
	away   error
	inside bool
	runs   int
}

func (p *remotePart) set(away error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.away = away
}

func (p *remotePart) state() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.away
}

// tries returns how often Run was called.
func (p *remotePart) tries() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs
}

func (p *remotePart) Run(ctx context.Context) error {
	p.mu.Lock()
	p.runs++
	p.mu.Unlock()
	for {
		if err := p.state(); err != nil && !p.inside {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (p *remotePart) Ready(context.Context) Readiness {
	if err := p.state(); err != nil {
		return Readiness{Reasons: []string{err.Error()}}
	}
	return Readiness{Partitions: 2}
}

// localPart is the other role of the process. It counts what it does.
type localPart struct {
	mu    sync.Mutex
	steps int
	worst time.Duration
}

func (p *localPart) Run(ctx context.Context) error {
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(10 * time.Millisecond):
		}
		p.mu.Lock()
		p.steps++
		p.worst = max(p.worst, time.Since(last))
		last = time.Now()
		p.mu.Unlock()
	}
}

func (p *localPart) Ready(context.Context) Readiness { return Readiness{Partitions: 1} }

func value(t *testing.T, g prometheus.Gauge) float64 {
	t.Helper()
	var m dto.Metric
	if err := g.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetGauge().GetValue()
}

// TestRemoteAway: the other cluster of a role is away for ten minutes. The process lives, its other
// role works at its pace, /readyz has a sentence, and the role continues by itself. It is the same
// for a part that ends and for one that waits inside Run.
func TestRemoteAway(t *testing.T) {
	for _, inside := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { remoteAway(t, inside) })
	}
}

func remoteAway(t *testing.T, inside bool) {
	remote, here := &remotePart{inside: inside}, &localPart{}
	var log bytes.Buffer
	n := &Node{}
	setup := Setup{Config: &config.Config{}, Log: zerolog.New(zerolog.SyncWriter(&log)), Registry: obs.NewRegistry("")}
	setup.RoleMetrics = newRoleMetrics(setup.Registry)
	part := func(p Part) func(*Setup) (Part, error) { return func(*Setup) (Part, error) { return p, nil } }
	memory := func(*config.Config, int64) Allocation { return Allocation{} }
	err := n.addParts(setup, []Role{
		{Name: "here", Weight: 1, Memory: memory, New: part(here)},
		{Name: "copier", Weight: 1, Memory: memory, New: part(remote), Remote: func(*config.Config) string { return "us" }},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.runParts(ctx) }()
	ready := func() (bool, string) {
		r := n.ready(ctx)
		return r.Ready, strings.Join(r.Waiting, "\n")
	}
	gauge := n.parts[1].Part.(*supervisor).waiting
	time.Sleep(time.Minute)
	if ok, waits := ready(); !ok || waits != "" || value(t, gauge) != 0 {
		t.Errorf("ready %t, waiting %q, gauge %g", ok, waits, value(t, gauge))
	}
	remote.set(errors.New("dial us-1:9092: connection refused"))
	time.Sleep(10 * time.Minute)
	if ok, waits := ready(); !ok || !strings.Contains(waits, "role copier waits for us since 2000-01-01T00:01:0") || !strings.Contains(waits, "refused") || strings.Contains(waits, "next try in") == inside {
		t.Errorf("ready %t, waiting %q", ok, waits)
	}
	if _, waits := ready(); strings.Join(n.waiting(), "\n") != waits {
		t.Errorf("for the list of partitions: %q, for /readyz: %q", n.waiting(), waits)
	}
	if value(t, gauge) != 1 || n.Owned(ctx) != 1 {
		t.Errorf("gauge %g, %d partitions", value(t, gauge), n.Owned(ctx))
	}
	if runs := remote.tries(); !inside && (runs < 20 || runs > 40) {
		t.Errorf("%d tries in ten minutes", runs)
	}
	remote.set(nil)
	time.Sleep(longestRetry + 2*superviseEach)
	if ok, waits := ready(); !ok || waits != "" || value(t, gauge) != 0 || n.Owned(ctx) != 3 {
		t.Errorf("ready %t, waiting %q, %d partitions", ok, waits, n.Owned(ctx))
	}
	select {
	case err := <-ended:
		t.Fatalf("the process ended: %v", err)
	default:
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if here.worst > 10*time.Millisecond || here.steps < 60_000 {
		t.Errorf("the other role made %d steps, the slowest took %s", here.steps, here.worst)
	}
	if a, b := strings.Count(log.String(), "role_waiting"), strings.Count(log.String(), "role_running"); a != 1 || b != 2 {
		t.Errorf("%d events role_waiting, %d role_running:\n%s", a, b, log.String())
	}
}

// TestSupervisorFatal: a wrong configuration ends the process before the role has worked, and does
// not after that. Another error never does.
func TestSupervisorFatal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wrong := &ConfigError{What: "w", Err: errors.New("e")}
		for _, tc := range []struct {
			worked bool
			err    error
			ends   bool
		}{{false, wrong, true}, {false, follower.ErrLocked, true}, {true, wrong, false}, {false, errors.New("away"), false}} {
			p := &remotePart{}
			if !tc.worked {
				p.set(tc.err)
			}
			setup := &Setup{Config: &config.Config{}, Log: zerolog.Nop(), RoleMetrics: newRoleMetrics(obs.NewRegistry(""))}
			v := newSupervisor("copier", "us", p, setup)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- v.Run(ctx) }()
			time.Sleep(time.Minute)
			p.set(tc.err)
			time.Sleep(time.Minute)
			cancel()
			if err := <-ended; (err != nil) != tc.ends {
				t.Errorf("%+v: %v", tc, err)
			}
		}
	})
}
