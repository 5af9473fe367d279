package processors

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/internal/changelog"
)

// takeOver brings partitions whose barrier is committed to where they can run:
//
//	facts, once for all ─▶ begin ─▶ readTails, one client for all ─▶ tailEnded: compare, revive ─▶ land
//
// It is given those that this worker holds in the store.
func (w *worker) takeOver(life context.Context, list []*restorer) {
	for _, r := range list {
		r.setWaitReason("the brokers' word on topics and offsets")
	}
	f, err := w.fetchBrokerState(life)
	from, tails := map[int32]int64{}, map[int32]*restorer{}
	var later []*restorer
	for _, r := range list {
		at, err := int64(0), err
		if err == nil {
			err = f.OffsetsStable(r.p)
		}
		if errors.Is(err, kerr.UnstableOffsetCommit) && r.ctx.Err() == nil {
			r.setWaitReason("the committed offsets of the group")
			later = append(later, r)
			continue
		}
		if err == nil {
			at, err = r.startOffset(f)
		}
		if err != nil {
			r.report(nil, err)
			continue
		}
		from[r.p], tails[r.p] = at, r
	}
	if len(later) > 0 {
		w.restores.Go(func() {
			pause.For(life, 20*time.Millisecond)
			w.takeOver(life, later)
		})
	}
	w.readTails(life, f, from, tails)
}

// fetchBrokerState gathers the facts. What the brokers cannot say of one partition is no concern of the others.
func (w *worker) fetchBrokerState(ctx context.Context) (*changelog.BrokerState, error) {
	return changelog.FetchGroupState(ctx, kadm.NewClient(w.admin), w.proc)
}
