package processors

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// The states of a task, in Status.State.
const (
	StateBarrier   = "barrier"   // its barrier is not committed yet
	StateRestoring = "restoring" // the tail of its changelog is being read
	StateRunning   = "running"   // its records are folded
	StateStopped   = "stopped"   // until an operator acts
	StateStandby   = "standby"   // another process owns it, this process keeps it warm
)

// Status is the status of a task in this process.
type Status struct {
	App           string
	Partition     int32
	State         string // one of the constants above
	Reason        string // why it is stopped; of a standby: why its state cannot be read yet
	OwnerEpoch    uint64
	Sequence      uint64
	Next          map[string]int64 // next input offset by topic, as committed
	ChangelogNext int64
	Restore       *RestoreProgress // nil unless it is restoring
	Lag           int64            // records behind the end of the inputs at the last poll; of a standby, behind the end of the changelog
	NewestMs      int64            // timestamp of the last record folded since the takeover; 0 before the first record
	WatermarkMs   int64            // event time of a handler with timers; 0 before the first advance
	Skipped       []SkippedRange   // what operators skipped in the inputs, oldest first; nil of a standby
	// Unreadable is where it is stopped because an input cannot be read; nil if Reason has another
	// cause. It is about records, which an operator can skip, or about the topic or the rights of
	// the process, and then only a restart helps.
	Unreadable *kafka.UnreadableError
	// Damage is why a standby cannot follow its changelog any further. Its state stays readable,
	// and becomes older.
	Damage      string
	HandlerWarm bool // of a standby: it has a handler that follows the changelog, see Processor.WarmStandbys

	restorer   *restorer
	awaitsSkip bool // it is stopped, and continues without a restart after an instruction to skip
}

// RestoreProgress is what a takeover has yet to read.
type RestoreProgress struct {
	Records int64         // of the changelog; fewer if compaction has removed some
	Bytes   int64         // an estimate from the records read so far
	ETA     time.Duration // an estimate from the speed so far; 0 before the first record
}

// SkippedRange is a range of offsets of an input that could not be read and that an operator gave
// up. It is a part of the committed state.
type SkippedRange struct {
	Topic string    `json:"topic"`
	From  int64     `json:"from"`
	To    int64     `json:"to"` // the first offset after the range
	Who   string    `json:"who"`
	Why   string    `json:"why"`
	At    time.Time `json:"at"` // of the decision
}

// SkippedRanges returns the ranges of a marker.
func SkippedRanges(skips []*changelogpb.Skip) (out []SkippedRange) {
	for _, s := range skips {
		out = append(out, SkippedRange{s.Topic, s.From, s.To, s.Who, s.Why, time.UnixMilli(s.AtMs).UTC()})
	}
	return out
}

// statusSnapshot is the status that a worker publishes after each commit and each change of its
// tasks.
type statusSnapshot struct {
	app, worker string
	metrics     *Metrics
	mu          sync.Mutex
	list        []Status
}

func (v *statusSnapshot) get() []Status {
	v.mu.Lock()
	list := slices.Clone(v.list)
	v.mu.Unlock()
	for i := range list {
		if r := list[i].restorer; r != nil {
			list[i].Restore = (*RestoreProgress)(r.progress.Load().Remaining(time.Now()))
		}
	}
	return list
}

// publish updates the status and the gauges of the worker.
func (w *worker) publish() {
	v := w.snapshot
	if v == nil {
		return
	}
	list := make([]Status, 0, len(w.tasks))
	states := map[string]int{taskBarrier.String(): 0, taskRestoring.String(): 0, taskRunning.String(): 0, taskStopped.String(): 0}
	var lag, skipped int64
	for _, p := range w.owned() {
		t := w.tasks[p]
		s := Status{
			App: w.proc.App, Partition: p, State: t.state.String(), OwnerEpoch: t.ownerEpoch, Sequence: t.seq,
			ChangelogNext: t.meta.GetChangelogNext(), Lag: t.lag,
		}
		s.Next = maps.Clone(changelogpb.NextOffsets(t.meta.GetMarker().GetInputs()))
		s.Skipped = SkippedRanges(t.meta.GetMarker().GetSkips())
		for _, r := range s.Skipped {
			skipped += r.To - r.From
		}
		s.NewestMs = t.newest
		if _, timed := t.handler.(stream.TimerHandler); timed {
			s.WatermarkMs = t.watermark.Ms()
		}
		if t.stopReason != nil {
			s.Reason = t.stopReason.Error()
		}
		s.awaitsSkip = t.awaitsSkip()
		if lost := new(kafka.UnreadableError); t.state == taskStopped && errors.As(t.stopReason, &lost) {
			s.Unreadable = lost
		}
		if t.state == taskRestoring {
			s.restorer = t.restorer
		}
		states[s.State]++
		lag += t.lag
		list = append(list, s)
	}
	v.mu.Lock()
	v.list = list
	v.mu.Unlock()
	v.metrics.Lag.WithLabelValues(v.app, v.worker).Set(float64(lag))
	v.metrics.Skipped.WithLabelValues(v.app, v.worker).Set(float64(skipped))
	for state, n := range states {
		v.metrics.Partitions.WithLabelValues(v.app, v.worker, state).Set(float64(n))
	}
}
