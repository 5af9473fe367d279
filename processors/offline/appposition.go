package offline

import (
	"context"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
)

// appPosition is where a stopped application stands.
type appPosition struct {
	last        map[int32]*changelogpb.Marker // of each partition that ever committed
	epoch       uint64                        // the greatest
	watermarkMs int64                         // the least
}

// position says where the application stands, and refuses one that has not read everything.
func (h *exclusiveMember) position(ctx context.Context, log *store.Offline) (appPosition, error) {
	s := appPosition{last: map[int32]*changelogpb.Marker{}, watermarkMs: math.MaxInt64}
	metas, err := log.Metas(ctx)
	if err != nil {
		return s, err
	}
	for p, meta := range metas {
		s.last[p] = meta.Marker
		s.epoch, s.watermarkMs = max(s.epoch, meta.Marker.OwnerEpoch), min(s.watermarkMs, meta.Marker.WatermarkMs)
	}
	if s.watermarkMs == math.MaxInt64 {
		s.watermarkMs = 0 // it never committed
	}
	starts, err := inputStarts(ctx, h)
	if err != nil {
		return s, err
	}
	ends, err := h.adm.ListEndOffsets(ctx, h.proc.Inputs...) // what is not decided yet is not read either
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return s, fmt.Errorf("read the ends of the inputs of %s: %w", h.proc.App, err)
	}
	unread, in, first := int64(0), 0, ""
	for _, topic := range h.proc.Inputs {
		for p := range h.partitions {
			next := starts[topic][p]
			if at, ok := changelogpb.NextOffsets(s.last[p].GetInputs())[topic]; ok {
				next = max(next, at)
			}
			if n := ends[topic][p].Offset - next; n > 0 {
				if unread, in = unread+n, in+1; first == "" {
					first = fmt.Sprintf("%s[%d] from offset %d", topic, p, next)
				}
			}
		}
	}
	if unread > 0 {
		return s, fmt.Errorf("%w: %d of %s in %d partitions, %s for one; stop who sends them, and let it read to the end", ErrUnread, unread, h.proc.App, in, first)
	}
	return s, nil
}

// inputStarts is where the inputs begin.
func inputStarts(ctx context.Context, h *exclusiveMember) (processors.Positions, error) {
	list, err := h.adm.ListStartOffsets(ctx, h.proc.Inputs...)
	if err == nil {
		err = list.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read where the inputs of %s begin: %w", h.proc.App, err)
	}
	out := processors.Positions{}
	list.Each(func(o kadm.ListedOffset) { out.Set(o.Topic, o.Partition, o.Offset) })
	return out, nil
}
