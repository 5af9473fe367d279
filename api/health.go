package api

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
)

// ListHealth returns one entry per shard that can be read, ordered by writer and shard, with the
// figures of its origins and their sums.
func (s *spendService) ListHealth(ctx context.Context,
	_ *connect.Request[weirpb.ListHealthRequest],
) (*connect.Response[weirpb.ListHealthResponse], error) {
	res, err := s.health(ctx)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

func (s *spendService) health(ctx context.Context) (*weirpb.ListHealthResponse, error) {
	var shards []*weirpb.ShardHealth
	err := s.spend.Health(ctx, func(h *eventspb.SpendHistogram) error {
		sh, err := shardHealth(h)
		shards = append(shards, sh)
		return err
	})
	var gaps *PartitionsError
	if err != nil && !errors.As(err, &gaps) {
		return nil, sourceError(err, "the health of the shards")
	}
	slices.SortFunc(shards, func(a, b *weirpb.ShardHealth) int {
		return cmp.Or(cmp.Compare(a.GetWriterDc(), b.GetWriterDc()), cmp.Compare(a.GetShard(), b.GetShard()))
	})
	res := &weirpb.ListHealthResponse{Shards: shards}
	if gaps != nil {
		for _, g := range gaps.Gaps {
			res.Gaps = append(res.Gaps, &weirpb.Gap{Partition: g.Partition, State: g.State, Reason: g.Reason})
		}
	}
	return res, nil
}

func shardHealth(h *eventspb.SpendHistogram) (*weirpb.ShardHealth, error) {
	out := &weirpb.ShardHealth{
		WriterDc:    h.GetWriterDc(),
		Shard:       h.GetShard(),
		Incarnation: h.GetIncarnation(),
		OwnerEpoch:  h.GetOwnerEpoch(),
		Sequence:    h.GetSequence(),
		TimestampMs: h.GetTimestampMs(),
		ApproxCount: h.GetApproxCount(),
		IngestCount: h.GetIngestCount(),
		WrittenAtMs: h.GetWrittenAtMs(),
	}
	var f checkedSums
	for _, o := range h.GetOrigins() {
		f.count("cumulative_count", &out.CumulativeCount, o.GetCumulativeCount())
		f.micros("cumulative_micros", &out.CumulativeMicros, o.GetCumulativeMicros())
		f.count("lost", &out.Lost, o.GetLost())
		f.count("rejected", &out.Rejected, o.GetRejected())
		out.Origins = append(out.Origins, &weirpb.OriginHealth{
			Dc: o.GetDc(), WatermarkMs: o.GetWatermarkMs(), Count_60S: o.GetCount_60S(), CumulativeCount: o.GetCumulativeCount(),
			CumulativeMicros: o.GetCumulativeMicros(), OffsetSum: o.GetOffsetSum(), Lost: o.GetLost(), Rejected: o.GetRejected(),
		})
	}
	if f.overflow != "" {
		return nil, errorf(connect.CodeOutOfRange,
			"the sum of %s over the origins of shard %d does not fit 64 bits: read its parts from the health row of the shard in spend.by.<dc>",
			f.overflow, h.GetShard())
	}
	return out, nil
}
