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

// takeOver restores partitions whose barrier is committed:
//
//	fetchBrokerState, once for all ─▶ startOffset ─▶ readTails, one client for all
//	  ─▶ tailEnded ─▶ finish: compareOffsets, buildHandler ─▶ report
//
// The worker owns these partitions in the store.
func (w *worker) takeOver(life context.Context, list []*restorer) {
	for _, r := range list {
		r.setWaitReason("the answer of the brokers on topics and offsets")
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

// fetchBrokerState fetches topic ids and offsets. An error of one partition does not concern the
// others.
func (w *worker) fetchBrokerState(ctx context.Context) (*changelog.BrokerState, error) {
	return changelog.FetchGroupState(ctx, kadm.NewClient(w.admin), w.proc)
}
