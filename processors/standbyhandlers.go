package processors

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/changelog"
	"github.com/weirhq/weir/processors/internal/group"
	"github.com/weirhq/weir/processors/internal/handler"
	"github.com/weirhq/weir/stream"
)

// A processor with WarmStandbys has handlers in its standbys, which follow the changelog with the
// store. They never fold and never flush. A takeover continues with the handler of the standby:
//
//	standby: store consistent ─▶ build, the partition is paused ─▶ follow: each transaction
//	  ─▶ release ─▶ handedOver ─▶ restorer: same transaction as the store? ─▶ tail ─▶ TakeOver
//
// Whatever does not fit is discarded, and the takeover makes its handler.

const (
	// handlerRetry is the time after which a standby makes a handler again that failed.
	handlerRetry = time.Minute
	// handlerGrowth is the time after which a standby makes a handler again that had no room.
	handlerGrowth = 10 * time.Minute
)

// standbyHandlers are the handlers of the partitions that a standby follows.
type standbyHandlers struct {
	byPartition map[int32]*handler.Warm
	notBefore   map[int32]time.Time // partitions whose handler failed or had no room
	building    *handlerBuild       // in progress; nil while none is being made
	handedOver  handedOver
}

// handlerBuild makes the handler of one partition.
type handlerBuild struct {
	applier *changelog.Applier
	meta    *changelogpb.TaskMeta
	cancel  context.CancelFunc
	done    chan struct{} // closed at the end
	warm    *handler.Warm // after done
	err     error         // after done
}

// handedOver has the handlers between a standby and the workers of its process.
type handedOver struct {
	mu     sync.Mutex
	list   map[int32]*handler.Warm
	closed bool
}

// put keeps a handler until take. w may be nil.
func (h *handedOver) put(p int32, w *handler.Warm) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if w == nil || h.closed {
		w.Close()
		return
	}
	h.list[p].Close()
	h.list[p] = w
}

// take removes the handler of a partition and returns it, nil for a partition without one.
func (h *handedOver) take(p int32) *handler.Warm {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := h.list[p]
	delete(h.list, p)
	return w
}

// drop closes the handlers of the selected partitions.
func (h *handedOver) drop(selected func(p int32) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p, w := range h.list {
		if selected(p) {
			w.Close()
			delete(h.list, p)
		}
	}
}

// bytes is the memory of the handlers.
func (h *handedOver) bytes() (n int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, w := range h.list {
		n += w.MemoryBytes()
	}
	return n
}

// owned returns the partitions that workers of this process own.
func (f *standby) owned() map[int32]bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	m := map[int32]bool{}
	for _, d := range f.assignments {
		for _, p := range d.active {
			m[p] = true
		}
	}
	return m
}

// buildHandler starts to make the handler of a partition that has none. Until the handler is made,
// nothing of the partition is read: it is made from the rows of one transaction.
func (f *standby) buildHandler(ctx context.Context) {
	h := &f.handlers
	if !f.proc.WarmStandbys || h.building != nil {
		return
	}
	for p, r := range f.held {
		if h.byPartition[p] != nil || time.Now().Before(h.notBefore[p]) || !r.Consistent() ||
			!f.consistency[p].Update(r, f.ends[p], group.AcceptableLag) {
			continue
		}
		m := r.Meta.Marker
		b := &handlerBuild{applier: r, meta: proto.CloneOf(r.Meta), done: make(chan struct{})}
		v := &handler.Builder{
			Kafka: f.cfg.Kafka, Proc: f.proc, Log: f.log, DB: f.store.DB,
			Task: stream.Task{Partition: p, OwnerEpoch: m.OwnerEpoch, Next: changelogpb.NextOffsets(m.Inputs)},
		}
		h.building = b
		f.pauseBuilding()
		life, cancel := context.WithCancel(ctx)
		b.cancel = cancel
		go func() {
			b.warm, b.err = handler.BuildWarm(life, v, b.meta)
			close(b.done)
			f.wake()
		}()
		return
	}
}

// pauseBuilding keeps the client from reading the partition whose handler is being made.
func (f *standby) pauseBuilding() {
	if b := f.handlers.building; b != nil && f.client != nil {
		f.client.Hold(b.applier.Partition)
	}
}

// handlerBuilt takes a handler that is made.
func (f *standby) handlerBuilt() {
	h, b := &f.handlers, f.handlers.building
	if b == nil {
		return
	}
	select {
	case <-b.done:
	default:
		return
	}
	p := b.applier.Partition
	h.building = nil
	b.cancel()
	if f.client != nil {
		f.client.Continue(p)
	}
	switch {
	case f.held[p] != b.applier: // the partition was released
		b.warm.Close()
	case b.err != nil:
		f.dropHandler(p, b.err, handlerRetry)
	case !b.applier.Consistent() || !b.warm.IsAt(b.applier.Meta):
		b.warm.Close() // another one is made from what was read
	default:
		f.followWith(b.applier, b.warm)
		f.log.Info().Int32("partition", p).Int64("bytes", b.warm.MemoryBytes()).Msg("standby_handler_made")
		f.checkHandler(p)
	}
}

func (f *standby) followWith(r *changelog.Applier, w *handler.Warm) {
	f.handlers.byPartition[r.Partition] = w
	r.Follow(w)
}

// errNoRoom is why a standby has no handler.
var errNoRoom = errors.New("the handlers of the standbys need more memory than they may have")

// checkHandler discards a handler that failed, or that has no room.
func (f *standby) checkHandler(p int32) {
	w := f.handlers.byPartition[p]
	if w == nil {
		return
	}
	total := f.handlers.handedOver.bytes()
	for _, x := range f.handlers.byPartition {
		total += x.MemoryBytes()
	}
	switch err := w.Err(); {
	case err != nil:
		f.dropHandler(p, err, handlerRetry)
	case total > f.cfg.StandbyHandlerBytes:
		f.dropHandler(p, fmt.Errorf("%w: %d of %d bytes", errNoRoom, total, f.cfg.StandbyHandlerBytes), handlerGrowth)
	}
}

// dropHandler discards the handler of a partition. The standby follows the partition without it.
func (f *standby) dropHandler(p int32, err error, retry time.Duration) {
	f.handlers.byPartition[p].Close()
	delete(f.handlers.byPartition, p)
	f.handlers.notBefore[p] = time.Now().Add(retry)
	if r := f.held[p]; r != nil {
		r.Follow(nil)
	}
	f.log.Warn().Int32("partition", p).Err(err).Msg("standby_handler_dropped")
}

// dropHandedOver discards the handlers that no worker of this process takes any more.
func (f *standby) dropHandedOver() {
	wanted, _ := f.wanted()
	owned := f.owned()
	f.handlers.handedOver.drop(func(p int32) bool { return !wanted[p] && !owned[p] })
}

// adoptHandler continues with the handler of a worker of this process whose takeover did not end.
func (f *standby) adoptHandler(r *changelog.Applier) {
	if w := f.handlers.handedOver.take(r.Partition); w.IsAt(r.Meta) {
		f.followWith(r, w)
	} else {
		w.Close()
	}
}

// releaseHandler hands the handler of a partition over to the worker of this process that owns the
// partition now, if there is one.
func (f *standby) releaseHandler(p int32, owned bool) {
	if b := f.handlers.building; b != nil && b.applier.Partition == p {
		b.cancel()
	}
	w := f.handlers.byPartition[p]
	if delete(f.handlers.byPartition, p); owned && w != nil {
		f.handlers.handedOver.put(p, w)
	} else {
		w.Close()
	}
}

// endHandlers closes all handlers.
func (f *standby) endHandlers() {
	if b := f.handlers.building; b != nil {
		b.cancel()
		<-b.done
		b.warm.Close()
	}
	h := &f.handlers.handedOver
	h.drop(func(int32) bool { return true })
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
}
