package admin

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/weirhq/weir/internal/logthrottle"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/lease/table"
)

// retries are the failed attempts since the last success.
type retries struct {
	tries int
	since time.Time // first failure
}

// isTemporary reports whether a later attempt may succeed.
func isTemporary(err error) bool {
	return errors.Is(err, table.ErrThrottled) || errors.Is(err, table.ErrUnavailable)
}

// pauseAfter waits after an attempt that failed with err. It returns an error if a further attempt
// is of no use, or if none has succeeded for MaxOutage. A nil err is a success.
func (im *importer) pauseAfter(ctx context.Context, err error, r *retries) error {
	switch {
	case err == nil:
		if e := im.outages.Success(time.Now()); e.Kind == logthrottle.End {
			im.reportOutage(ImportOutage{For: e.For})
		}
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case !isTemporary(err):
		return err
	}
	now := time.Now()
	if r.tries++; r.tries == 1 {
		r.since = now
	}
	if now.Sub(r.since) >= im.from.MaxOutage {
		return fmt.Errorf("no success for %v: %w", im.from.MaxOutage, err)
	}
	if errors.Is(err, table.ErrUnavailable) {
		if e := im.outages.Failure(now); e.Kind != logthrottle.None {
			im.reportOutage(ImportOutage{e.For, err})
		}
	}
	if !pause.For(ctx, rand.N(50*time.Millisecond<<min(r.tries, 7))) {
		return ctx.Err()
	}
	return nil
}

func (im *importer) reportOutage(o ImportOutage) {
	if im.from.Outage != nil {
		im.reporting.Lock()
		defer im.reporting.Unlock()
		im.from.Outage(o)
	}
}

// saveAtEnd stores the progress of an import that ended with err. It returns err, or the error of a
// complete import whose progress cannot be stored. If the progress of an incomplete import is not
// stored, the next run reads some lines again, which does no harm.
func (im *importer) saveAtEnd(ctx context.Context, err error) error {
	var r retries
	for {
		attempt, cancel := context.WithTimeout(context.WithoutCancel(ctx), im.a.table.Timeout)
		saved := im.saveProgress(attempt)
		cancel()
		if err != nil {
			return err
		}
		if saved == nil {
			return nil
		}
		if err := im.pauseAfter(ctx, saved, &r); err != nil {
			return fmt.Errorf("all lines are imported, but the progress could not be stored: %w", err)
		}
	}
}

// reportLoop reports the progress to the caller and stores it in the table, until done.
func (im *importer) reportLoop(ctx context.Context, done <-chan struct{}) error {
	shown, kept := time.NewTicker(200*time.Millisecond), time.NewTicker(checkpoint)
	defer shown.Stop()
	defer kept.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-done:
			im.progress()
			return nil
		case <-shown.C:
			im.progress()
		case <-kept.C:
			if err := im.saveProgress(ctx); err != nil && !isTemporary(err) {
				return err
			}
		}
	}
}

func (im *importer) progress() {
	if im.from.Progress != nil {
		im.mu.Lock()
		s := im.sum
		im.mu.Unlock()
		s.Rate = im.limiter.Rate()
		im.from.Progress(s)
	}
}
