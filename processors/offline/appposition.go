package offline

import (
	"context"
	"fmt"
	"math"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/weirhq/weir/processors/changelogpb"
	"github.com/weirhq/weir/processors/internal/store"
	"github.com/weirhq/weir/processors/internal/topics"
)

// appPosition is the position of a stopped application.
type appPosition struct {
	last        map[int32]*changelogpb.Marker // the last marker of each partition that ever committed
	incarnation uint64                        // the greatest of its partitions
	epoch       uint64                        // the greatest owner epoch
	watermarkMs int64                         // the least watermark
}

// position returns the position of the application. It returns ErrUnread if the application has not
// read its inputs to the end, and ErrAdded for records that it cannot read.
func (h *exclusiveMember) position(ctx context.Context, log *store.Offline) (appPosition, error) {
	s := appPosition{last: map[int32]*changelogpb.Marker{}, watermarkMs: math.MaxInt64}
	metas, err := log.Metas(ctx)
	if err != nil {
		return s, err
	}
	for p, meta := range metas {
		s.last[p] = meta.Marker
		s.incarnation = max(s.incarnation, meta.Marker.Incarnation)
		s.epoch, s.watermarkMs = max(s.epoch, meta.Marker.OwnerEpoch), min(s.watermarkMs, meta.Marker.WatermarkMs)
	}
	if s.watermarkMs == math.MaxInt64 {
		s.watermarkMs = 0 // it never committed
	}
	starts, err := inputStarts(ctx, h)
	if err != nil {
		return s, err
	}
	ends, err := h.adm.ListEndOffsets(ctx, h.proc.Inputs...) // records of open transactions are unread, too
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return s, fmt.Errorf("read the end offsets of the inputs of %s: %w", h.proc.App, err)
	}
	unread, in, first := int64(0), 0, ""
	for _, topic := range h.proc.Inputs {
		for p, end := range ends[topic] {
			next := starts[topic][p]
			if at, ok := changelogpb.NextOffsets(s.last[p].GetInputs())[topic]; ok {
				next = max(next, at)
			}
			n := end.Offset - next
			switch {
			case n > 0 && p >= h.partitions: // the application never reads them
				added := topics.Added{Topic: topic, State: h.partitions, Has: int32(len(ends[topic]))}
				return s, fmt.Errorf("%w: %s: %d records in partition %d: %s", ErrAdded, added, n, p, added.Remedy())
			case n > 0:
				if unread, in = unread+n, in+1; first == "" {
					first = fmt.Sprintf("%s[%d] from offset %d", topic, p, next)
				}
			}
		}
	}
	if unread > 0 {
		return s, fmt.Errorf(
			"%w: %d records for %s in %d partitions, for example %s: stop the producers, and let the application read to the end",
			ErrUnread, unread, h.proc.App, in, first)
	}
	return s, nil
}

// inputStarts returns the first offsets of the inputs.
func inputStarts(ctx context.Context, h *exclusiveMember) (Positions, error) {
	list, err := h.adm.ListStartOffsets(ctx, h.proc.Inputs...)
	if err == nil {
		err = list.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("read the first offsets of the inputs of %s: %w", h.proc.App, err)
	}
	out := Positions{}
	list.Each(func(o kadm.ListedOffset) { out.Set(o.Topic, o.Partition, o.Offset) })
	return out, nil
}
