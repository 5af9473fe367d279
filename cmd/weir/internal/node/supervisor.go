package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors"
)

// Pauses between two tries of a supervised role, and between two looks at its state.
const (
	firstRetry    = time.Second
	longestRetry  = 30 * time.Second
	superviseEach = time.Second
)

// supervisor runs the part of a role that depends on another cluster. An error of the part is not
// one of the process.
//
//	waiting ── Run is at work and Ready has no reason ──▶ running
//	   ▲                                                     │
//	   └────────── Run returned, or Ready has reasons ◀──────┘
type supervisor struct {
	Part
	role    string // its name; that of a part of a role has the other cluster, too
	remote  string // the other cluster
	log     zerolog.Logger
	waiting prometheus.Gauge
	failed  prometheus.Counter

	mu    sync.Mutex
	state roleState
}

// roleState is the state of a supervised role.
type roleState struct {
	worked bool // it was running once
	runs   bool
	since  time.Time // of runs
	why    string    // it waits
	next   time.Time // next try; zero: Run is at work
}

func newSupervisor(role, remote string, p Part, s *Setup) *supervisor {
	v := &supervisor{Part: p, role: role, remote: remote, log: s.Log, state: roleState{why: "it has not answered yet"}}
	v.waiting, v.failed = s.RoleMetrics(role)
	v.waiting.Set(1)
	return v
}

// Run implements Part. It returns nil when ctx ends, or an error that ends the process: a wrong
// configuration before the role has worked once.
func (v *supervisor) Run(ctx context.Context) error {
	v.mu.Lock()
	v.state.since = time.Now()
	v.mu.Unlock()
	for wait := firstRetry; ctx.Err() == nil; {
		began := time.Now()
		err := v.try(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // a stop is not a failure
		}
		if err == nil {
			err = errors.New("the role ended without an error")
		}
		v.mu.Lock()
		fatal := !v.state.worked && wrongConfig(err)
		v.mu.Unlock()
		if fatal {
			return err
		}
		if time.Since(began) > longestRetry {
			wait = firstRetry
		}
		v.failed.Inc()
		v.observe(err.Error(), time.Now().Add(wait))
		pause.For(ctx, wait)
		wait = min(2*wait, longestRetry)
	}
	return nil
}

// try calls Run of the part once, and observes whether it is ready.
func (v *supervisor) try(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		for pause.For(ctx, superviseEach) {
			r := v.Part.Ready(ctx)
			if ctx.Err() != nil {
				return
			}
			why := ""
			if len(r.Reasons) > 0 {
				why = r.Reasons[0]
			}
			v.observe(why, time.Time{})
		}
	})
	defer watch.Wait()
	defer cancel()
	return v.Part.Run(ctx)
}

// observe takes why the role waits, or "" if it works, and logs a change of its state.
func (v *supervisor) observe(why string, next time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := &v.state
	first := !s.worked && s.runs == (why == "") && s.next.IsZero() && !next.IsZero() // its first failure
	changed := s.runs != (why == "")
	former := time.Since(s.since)
	s.why, s.next = why, next
	if changed {
		s.runs, s.since = why == "", time.Now()
		s.worked = s.worked || s.runs
	}
	line := func(e *zerolog.Event) *zerolog.Event { return e.Str("role", v.role).Str("remote", v.remote) }
	switch {
	case changed && s.runs:
		v.waiting.Set(0)
		line(v.log.Info()).Dur("waited_ms", former).Msg("role_running")
	case changed, first:
		v.waiting.Set(1)
		line(v.log.Warn()).Str("error", why).Time("next", next).Msg("role_waiting")
	}
}

// Ready implements Part. A role that waits keeps the process neither from being ready nor alive.
func (v *supervisor) Ready(ctx context.Context) Readiness {
	r := v.Part.Ready(ctx)
	r.Reasons = nil
	if why := v.waits(); why != "" {
		r.Waiting, r.Partitions = why, 0
	}
	return r
}

// waits returns why the role waits, a sentence, or "" if it works.
func (v *supervisor) waits() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.state
	if s.runs {
		return ""
	}
	why := fmt.Sprintf("role %s waits for %s since %s: %s", v.role, v.remote, s.since.UTC().Format(time.RFC3339), s.why)
	if left := time.Until(s.next).Round(time.Second); left > 0 {
		why += fmt.Sprintf("; next try in %s", left)
	}
	return why
}

// Advertise implements advertiser.
func (v *supervisor) Advertise(endpoint string) {
	if a, ok := v.Part.(advertiser); ok {
		a.Advertise(endpoint)
	}
}

// Background implements background.
func (v *supervisor) Background(ctx context.Context) (stop func()) {
	if b, ok := v.Part.(background); ok {
		return b.Background(ctx)
	}
	return func() {}
}

// Close implements closer.
func (v *supervisor) Close() {
	if c, ok := v.Part.(closer); ok {
		c.Close()
	}
}

// wrongConfig reports whether an error is one of this process's configuration or state directory,
// and not of the other cluster. Rights and certificates are not among them: the other cluster may
// change them at any time.
func wrongConfig(err error) bool {
	var config *ConfigError
	return errors.As(err, &config) || errors.Is(err, processors.ErrConfig) || errors.Is(err, processors.ErrLocked) ||
		errors.Is(err, processors.ErrNewer) || errors.Is(err, processors.ErrForeign)
}

// newRoleMetrics registers the metrics of supervised roles, and returns the function that gives
// those of one role.
func newRoleMetrics(r prometheus.Registerer) func(role string) (waiting prometheus.Gauge, failed prometheus.Counter) {
	gauge := prometheus.NewGaugeVec(
		prometheus.GaugeOpts{
			Name: "weir_role_waiting", Help: "1 while a role waits for the other cluster that it depends on, 0 while it works.",
		}, []string{"role"})
	counter := prometheus.NewCounterVec(
		prometheus.CounterOpts{Name: "weir_role_failures_total", Help: "Failed tries of a role that depends on another cluster."},
		[]string{"role"})
	r.MustRegister(gauge, counter)
	return func(role string) (prometheus.Gauge, prometheus.Counter) {
		return gauge.WithLabelValues(role), counter.WithLabelValues(role)
	}
}
