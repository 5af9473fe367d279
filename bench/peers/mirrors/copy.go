package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/weirhq/weir/internal/pause"
)

// copied is the result of the copy of a full log.
type copied struct {
	perSecond float64 // from a quarter of the log to its end
	seconds   float64 // from the start of the first process to the last copy
	peak      int64   // greatest resident memory of a process in bytes
	differences
}

const (
	sightInterval = 50 * time.Millisecond
	// settled is the time without growth after which a complete copy has ended.
	settled = 3 * time.Second
	// settledAfterKill is longer: a copier that was killed starts slowly, and may copy again what
	// is there.
	settledAfterKill = 30 * time.Second
	// stalled is the time without growth after which a copy has failed.
	stalled = 3 * time.Minute
)

// copyLog lets a system copy the full log from an empty target, kills its process as often as
// kills, and compares the copies with the original.
func (b *bench) copyLog(ctx context.Context, s system, kills int) (c copied, err error) {
	dir, err := os.MkdirTemp(b.scratch, "copy")
	if err != nil {
		return c, err
	}
	setup, err := s.prepare(ctx, fullLog, dir)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, setup.clean(), os.RemoveAll(dir)) }() //nolint:contextcheck // also after ctx
	w := watch{bench: b, setup: setup, kills: kills}
	if err := w.run(ctx); err != nil {
		return c, err
	}
	c.perSecond, c.seconds, c.peak = w.rate(b.events), w.last().Sub(w.started).Seconds(), w.peak
	compared := b.original.compare()
	if err := b.target.scan(ctx, setup.copies, compared.add); err != nil {
		return c, err
	}
	c.differences = compared.end()
	return c, nil
}

// watch starts a copier and observes the topic of its copies until all is copied.
type watch struct {
	progress
	bench *bench
	setup *setup
	kills int

	process *process
	killed  int
	peak    int64
}

func (w *watch) run(ctx context.Context) (err error) {
	w.started = time.Now()
	if w.process, err = w.setup.program.start(); err != nil {
		return err
	}
	defer func() { w.peak = max(w.peak, w.process.stop()) }()
	for {
		if !pause.For(ctx, sightInterval) {
			return ctx.Err()
		}
		ends, err := w.bench.target.ends(ctx, w.setup.copies)
		if err != nil {
			return err
		}
		now, sum := time.Now(), int64(0)
		for _, end := range ends {
			sum += end
		}
		w.add(now, sum)
		switch quiet := now.Sub(w.last()); {
		case w.complete(ends) && quiet > w.settled():
			return nil
		case quiet > stalled:
			return fmt.Errorf("no copy arrived for %s; the end of the output:\n%s", stalled, w.process.tail())
		}
		if err := w.process.alive(); err != nil {
			return err
		}
		if w.killed < w.kills && sum >= w.bench.events*int64(w.killed+1)/int64(w.kills+1) {
			if err := w.restart(); err != nil {
				return err
			}
		}
	}
}

// restart kills the process and starts it again at once.
func (w *watch) restart() (err error) {
	w.peak = max(w.peak, w.process.kill())
	w.killed++
	next, err := w.setup.program.start()
	if err == nil {
		w.process = next
	}
	return err
}

// complete reports whether each partition may have all copies. Duplicates and markers count, too,
// so the copy has ended only when it no longer grows.
func (w *watch) complete(ends []int64) bool {
	for p, end := range ends {
		if end < int64(len(w.bench.original.digests[p])) {
			return false
		}
	}
	return true
}

func (w *watch) settled() time.Duration {
	if w.killed > 0 {
		return settledAfterKill
	}
	return settled
}
