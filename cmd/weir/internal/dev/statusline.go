package dev

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events/eventspb"
)

// status is what `weir dev` reports while it runs.
type status struct {
	at             time.Time
	events         int64 // counted, of all time
	perSecond      float64
	charged        []node.Charge // since the process started
	lag            int64
	running, parts int
	leases         leaseCounts
}

// statusAfter reads the status. last is the status before; the zero value for the first.
func (d *dev) statusAfter(ctx context.Context, last status) (s status, err error) {
	s.at = time.Now()
	err = d.node.Spend.Health(ctx, func(h *eventspb.SpendHistogram) error {
		for _, o := range h.Origins {
			s.events += int64(o.CumulativeCount)
		}
		return nil
	})
	if err != nil {
		return s, err
	}
	if !last.at.IsZero() {
		s.perSecond = float64(s.events-last.events) / s.at.Sub(last.at).Seconds()
	}
	if s.charged, err = d.node.Charged(); err != nil {
		return s, err
	}
	parts := d.spendTasks(ctx)
	for _, p := range parts {
		s.lag += p.GetLag()
		if p.State == "running" {
			s.running++
		}
	}
	s.parts, s.leases = len(parts), d.leases.counts()
	return s, nil
}

// String returns the status as a line. Money of several currencies has no sum.
func (s status) String() string {
	charged := make([]string, len(s.charged))
	for i, c := range s.charged {
		charged[i] = render.Money(c.Micros) + " " + c.Currency
	}
	return fmt.Sprintf("%s  %d events  %.0f/s  charged %s  behind %d  partitions %d/%d running  %s", s.at.Format(time.TimeOnly),
		s.events, s.perSecond, strings.Join(append(charged, "0")[:max(1, len(charged))], ", "), s.lag, s.running, s.parts, s.leases)
}

// log writes the status as an event.
func (s status) log(l *zerolog.Logger) {
	charged := zerolog.Dict()
	for _, c := range s.charged {
		charged.Int64(c.Currency, c.Micros)
	}
	l.Info().Int64("events", s.events).Float64("events_per_second", s.perSecond).Dict("charged_micros", charged).
		Int64("lag_records", s.lag).
		Int("running", s.running).Int("partitions", s.parts).Int64("leases_held", s.leases.held).Msg("dev_status")
}

// watch reports the status: on a terminal every second, as a line in place, else every ten seconds,
// as an event between the others, so that a program can read all of standard error.
func (d *dev) watch(ctx context.Context) error {
	terminal, every := d.a.IsTerminal(), 10*time.Second
	if terminal {
		every = time.Second
	}
	t := time.NewTicker(every)
	defer t.Stop()
	var last status
	for {
		select {
		case <-ctx.Done():
			if terminal {
				fmt.Fprintln(d.a.Stderr)
			}
			return nil
		case <-t.C:
		}
		s, err := d.statusAfter(ctx, last)
		if err != nil {
			continue // the partitions move
		}
		if terminal {
			fmt.Fprint(d.a.Stderr, "\r\x1b[K", s)
		} else {
			s.log(&d.statusLog)
		}
		last = s
	}
}

// spendTasks returns the partitions of the spend counter in this process.
func (d *dev) spendTasks(ctx context.Context) []*weirpb.Partition {
	for _, app := range d.node.Apps {
		if app.Name == node.SpendCounter(d.cfg).App() {
			tasks, _ := app.Tasks.Tasks(ctx) // a runtime returns no error
			return tasks
		}
	}
	return nil
}
