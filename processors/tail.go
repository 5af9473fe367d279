package processors

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/kafka"
)

// startOffset returns the changelog offset of the store, from which the tail is read up to the
// restorer's own barrier. Every earlier transaction has ended by then: read_committed returns no
// record behind an open transaction.
func (r *restorer) startOffset(f *changelog.BrokerState) (from int64, err error) {
	if r.applier != nil {
		if err := r.applier.Close(); err != nil {
			return 0, err
		}
	}
	if r.applier, err = changelog.NewApplier(r.w.store, f, r.p, r.rebuild); err != nil {
		return 0, err
	}
	if r.applier.Token = r.token; r.applier.Next > r.barrier {
		return 0, r.stop(
			fmt.Errorf(
				"the store is at offset %d of %s[%d], which ends at %d: the log was cut or replaced. Check that the changelog is the right one, then remove the state directory to rebuild the store from it", r.applier.Next+1, r.w.proc.Changelog, r.p, r.barrier))
	}
	r.takeWarm()
	r.progress.Store(&r.applier.Progress)
	return r.applier.Next, nil
}

// readTails reads the changelogs of several partitions with one client. A partition that has
// reached its barrier continues in a goroutine of its own.
func (w *worker) readTails(life context.Context, f *changelog.BrokerState, from map[int32]int64, list map[int32]*restorer) {
	if len(list) == 0 {
		return
	}
	at := map[int32]kgo.Offset{}
	for p, offset := range from {
		at[p] = kgo.NewOffset().At(offset)
		list[p].setWaitReason("its barrier in the changelog")
	}
	cl, err := changelog.NewReader(w.cfg.Kafka, w.proc.Changelog, at, kgo.FetchMaxBytes(w.cfg.FetchBytes),
		kgo.FetchMaxPartitionBytes(min(4<<20, w.cfg.FetchBytes)), kgo.FetchMaxWait(250*time.Millisecond))
	if err != nil {
		for _, r := range list {
			r.report(nil, err)
		}
		return
	}
	defer cl.Close()
	done := func(r *restorer) {
		delete(list, r.p)
		cl.Leave(r.p)
	}
	left := w.cfg.Metrics.RestoreRemaining.WithLabelValues(w.proc.App, strconv.Itoa(w.id))
	defer left.Set(0)
	for len(list) > 0 {
		ctx, cancel := context.WithCancel(life)
		stops := make([]func() bool, 0, len(list))
		for _, r := range list { // a released partition ends the poll
			stops = append(stops, context.AfterFunc(r.ctx, cancel)) //nolint:contextcheck // r.ctx is derived from life
		}
		fetches, unreadable := cl.Poll(ctx, 10_000)
		for _, stop := range stops {
			stop()
		}
		cancel()
		for _, r := range list {
			if err := r.ctx.Err(); err != nil {
				done(r)
				r.report(nil, err)
			}
		}
		var records int64
		for _, r := range list {
			records += r.applier.Progress.Remaining(time.Now()).Records
		}
		left.Set(float64(records))
		fetches.EachPartition(func(fp kgo.FetchTopicPartition) {
			if r := list[fp.Partition]; r != nil {
				if err := r.applier.ApplyAll(fp.Records); err != nil {
					done(r)
					w.restores.Go(func() { r.tailEnded(life, f, err) })
				}
			}
		})
		for p, err := range unreadable {
			if r := list[p]; r != nil {
				done(r)
				r.report(nil, r.unreadable(err))
			}
		}
	}
}

// unreadable returns the error of a changelog that cannot be read at the position of the applier. A
// damaged one stops the partition: a state without the batch would be wrong.
func (r *restorer) unreadable(err error) error {
	if kafka.Damaged(err) {
		return r.stop(&kafka.DamagedChangelogError{Topic: r.w.proc.Changelog, Partition: r.p, Err: err})
	}
	return fmt.Errorf("read %s[%d] from %d: %w", r.w.proc.Changelog, r.p, r.applier.Next, err)
}

// tailEnded continues the takeover after the tail is read, or failed to be read.
func (r *restorer) tailEnded(life context.Context, f *changelog.BrokerState, err error) {
	switch {
	case errors.Is(err, changelog.ErrEnd):
		r.tailRead.Store(true)
		r.setWaitReason("the store to write what was read from the changelog")
		r.w.cfg.Metrics.RestoredRecords.WithLabelValues(r.w.proc.App).Add(float64(r.applier.Count))
		err = r.applier.Flush()
	case errors.Is(err, changelog.ErrDiverged):
		r.w.log.Warn().Int32("partition", r.p).Str("store", r.applier.Expected()).Msg("store_diverged")
		r.rebuild = true
		r.w.takeOver(life, []*restorer{r})
		return
	}
	if err != nil {
		r.report(nil, fmt.Errorf("read the tail of %s[%d]: %w", r.w.proc.Changelog, r.p, err))
		return
	}
	r.report(r.finish(f))
}
