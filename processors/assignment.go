package processors

import (
	"slices"
	"sync"
	"time"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
)

// incompleteLimit is the time after which a worker requests the rebalance that an incomplete plan
// needs. The member that releases a partition requests it at once. If that member was killed first
// and is restarted within the session timeout, it joins the stable group as the same static member,
// and no member requests it.
const incompleteLimit = 5 * time.Second

// assignment is the whole assignment of a worker since the last rebalance.
type assignment struct {
	mu         sync.Mutex
	partitions []int32
	incomplete time.Time // since when a partition of the group has no owner; zero if each has one
}

func (a *assignment) set(partitions []int32, incomplete bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.partitions, a.incomplete = partitions, time.Time{}
	if incomplete {
		a.incomplete = time.Now()
	}
}

// isOverdue reports whether the plan has been incomplete for longer than incompleteLimit. Another
// limit begins.
func (a *assignment) isOverdue() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.incomplete.IsZero() || time.Since(a.incomplete) < incompleteLimit {
		return false
	}
	a.incomplete = time.Now()
	return true
}

func (a *assignment) get() []int32 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.partitions)
}

// memberMetadata returns what a member reports to the group: its process, and the changelog offset
// of each partition in the store of the process.
func (w *worker) memberMetadata() *changelogpb.Member {
	m := &changelogpb.Member{
		Instance: w.cfg.Instance, Endpoint: w.cfg.Endpoint, Next: map[int32]int64{}, WrittenMs: map[int32]int64{},
		RebalanceRequests: w.rebalanceRequests.Load(),
		Settings:          w.proc.Settings, Pins: w.cfg.Pins.metadata(),
	}
	for p := range w.partitions {
		if meta, err := w.store.Meta(w.store.DB, p); err == nil && meta.Marker != nil && !changelog.TooOld(meta) {
			m.Next[p], m.WrittenMs[p] = meta.ChangelogNext, meta.Marker.WrittenAtMs
		}
	}
	return m
}

// onAssignment gets the assignment of the group.
func (w *worker) onAssignment(partitions []int32, d *changelogpb.WorkerAssignment) {
	w.joined.Store(true)
	w.assignment.set(partitions, d.GetIncomplete())
	w.owners.onAssignment(w.id, partitions)
	if w.standby.onAssignment(w.id, partitions, d) {
		w.cfg.Log.Warn().Str("app", w.proc.App).Int32("partitions", w.partitions).Int32("processes", d.GetProcesses()).Msg("process_spare")
	}
}

// requestRebalance asks the group for a new plan. It runs in the worker's loop.
func (w *worker) requestRebalance() {
	w.rebalanceRequests.Add(1)
	w.sess.Client().ForceRebalance()
}
