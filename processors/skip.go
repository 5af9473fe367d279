package processors

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/kafka"
)

// unreadable is the reason why a task stops: an input cannot be read at the task's position.
type unreadable struct {
	topic string
	err   error // of the fetch
}

// stopAfterCommit pauses a task whose next records cannot be read. What it has folded before them
// is committed first, so that the position at which the task stops is that of the first record that
// cannot be read.
func (w *worker) stopAfterCommit(t *task, topic string, err error) {
	if t.unreadable == nil {
		t.unreadable = &unreadable{topic, err}
	}
	w.sess.Client().PauseFetchPartitions(w.topicsOf(t.p))
}

// stopUnreadable stops the tasks of stopAfterCommit that have nothing left to commit.
func (w *worker) stopUnreadable(ctx context.Context) error {
	for p, t := range w.tasks {
		if t.unreadable == nil || t.state != taskRunning || t.hasChanges() || t.repairOffsets {
			continue
		}
		if t.buffer.Pending() {
			if err := w.writeBuffers(t); err != nil {
				return err
			}
		}
		at := kafka.UnreadableError{Topic: t.unreadable.topic, Partition: p, Offset: t.next[t.unreadable.topic]}
		t.state, t.stopReason = taskStopped, w.cfg.Kafka.Unreadable(ctx, at, t.unreadable.err)
		w.discardHandler(t)
		w.log.Error().Int32("partition", p).Err(t.stopReason).Msg("partition_stopped")
		w.publish()
	}
	return nil
}

// fetchFailed pauses an input of a task after an error that may pass, and otherwise stops the task:
// see kafka.FailedFetch. It returns an error that ends the session.
func (w *worker) fetchFailed(ctx context.Context, t *task, topic string, err error) error {
	f := t.failedFetches[topic]
	if f == nil {
		f = &kafka.FailedFetch{}
		t.failedFetches[topic] = f
	}
	f.After, f.AwaitRight = w.cfg.UnreadableAfter, true
	final := f.Failed(ctx, w.cfg.Kafka, kafka.Position{Topic: topic, Partition: t.p, Offset: t.next[topic]}, err)
	if final != nil { // a stopped task does not retry
		*f = kafka.FailedFetch{}
	}
	switch {
	case final == nil:
		w.log.Warn().Err(err).Str("topic", topic).Int32("partition", t.p).Msg("fetch_failed")
		w.sess.Client().PauseFetchPartitions(map[string][]int32{topic: {t.p}})
	case kafka.Skippable(final):
		w.stopAfterCommit(t, topic, final)
	default:
		return t.stop(w.cfg.Kafka.Unreadable(ctx, kafka.UnreadableError{Topic: topic, Partition: t.p, Offset: t.next[topic]}, final))
	}
	return nil
}

// retryFetches resumes inputs that fetchFailed has paused.
func (w *worker) retryFetches() {
	for p, t := range w.tasks {
		for topic, f := range t.failedFetches {
			if t.state != taskRunning || t.unreadable != nil || t.next[topic] >= w.cfg.replay.End(topic, p) || !f.Due() {
				continue
			}
			kafka.Resume(w.sess.Client(), kafka.Position{Topic: topic, Partition: p, Offset: t.next[topic]})
		}
	}
}

// awaitsSkip reports whether a task is stopped, and continues after an instruction to skip.
func (t *task) awaitsSkip() bool { return t.state == taskStopped && t.unreadable != nil }

// skipPoll is the time between two looks for instructions to skip.
const skipPoll = 2 * time.Second

// lookForSkips takes a task over again that is stopped because an input cannot be read, if its
// changelog has a record that the task has not seen. The record may be an instruction to skip.
func (w *worker) lookForSkips(life context.Context) {
	if w.looking || time.Since(w.looked) < skipPoll {
		return
	}
	var stopped []int32
	for p, t := range w.tasks {
		if t.awaitsSkip() {
			stopped = append(stopped, p)
		}
	}
	if len(stopped) == 0 {
		return
	}
	w.looking = true
	adm := kadm.NewClient(w.admin)
	w.restores.Go(func() {
		ends, err := adm.ListEndOffsets(life, w.proc.Changelog)
		w.mailbox.post(func() {
			w.looking, w.looked = false, time.Now()
			if err != nil && life.Err() == nil {
				w.log.Warn().Err(err).Msg("skip_poll_failed")
			}
			for _, p := range stopped {
				t := w.tasks[p]
				if end, ok := ends.Lookup(w.proc.Changelog, p); t != nil && t.awaitsSkip() && ok && end.Err == nil &&
					end.Offset > t.changelogEnd() {
					t.state = taskBarrier
				}
			}
			w.publish()
		})
	})
}

// changelogEnd returns the end of the changelog if nothing follows the last record of the task: its
// barrier or its marker, each with the end of its transaction.
func (t *task) changelogEnd() int64 { return max(t.barrier+2, t.meta.GetChangelogNext()+1) }

// carrySkips moves the positions of a takeover past the ranges that an operator has given up. The
// first transaction of the task commits the ranges with the positions.
func (r *restorer) carrySkips(res *restoreResult) {
	marker := res.meta.GetMarker()
	res.skips = slices.Clone(marker.GetSkips())
	for _, s := range r.applier.Skips {
		e := r.w.log.Warn().Int32("partition", r.p).Str("topic", s.Topic).Int64("from", s.From).Int64("to", s.To).Str("who", s.Who).
			Str("why", s.Why)
		next, ok := int64(0), false
		if at, known := res.next[s.Topic]; known {
			next, ok = changelog.Carry(s, marker, at)
		}
		if !ok {
			e.Int64("position", res.next[s.Topic]).Msg("skip_void")
			continue
		}
		res.next[s.Topic], res.skips = next, append(res.skips, s)
		e.Msg("range_skipped")
	}
	for topic, at := range res.next {
		res.next[topic] = changelog.Skips(r.w.cfg.replay.SkipsOf(r.p)).Past(topic, at)
	}
}

// passSkips seeks the client of a replay past a range that take has left out.
func (w *worker) passSkips(t *task, topic string, in []*kgo.Record) {
	if last := in[len(in)-1].Offset; t.next[topic] <= last+1 || len(w.cfg.replay.SkipsOf(t.p)) == 0 {
		return
	}
	kafka.Seek(w.sess.Client(), kafka.Position{Topic: topic, Partition: t.p, Offset: t.next[topic]})
	if t.unreadable != nil && t.unreadable.topic == topic {
		t.unreadable = nil
		w.resume(t)
	}
}
