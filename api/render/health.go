package render

import (
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirhq/weir/api/weirpb"
)

type shard struct {
	WriterDC         string `json:"writer_dc"`
	Shard            int32  `json:"shard"`
	OwnerEpoch       uint64 `json:"owner_epoch"`
	Sequence         uint64 `json:"sequence"`
	TimestampMs      int64  `json:"timestamp_ms"`
	ApproxCount      uint64 `json:"approx_count"`
	IngestCount      uint64 `json:"ingest_count"`
	WrittenAtMs      int64  `json:"written_at_ms"`
	CumulativeCount  uint64 `json:"cumulative_count"`
	CumulativeMicros int64  `json:"cumulative_micros"`
	Lost             uint64 `json:"lost"`
	Rejected         uint64 `json:"rejected"`
	Incarnation      uint64 `json:"incarnation"`

	Origins []origin `json:"origins"`
}

// origin is the JSON form of the part of a shard's health about one datacentre.
type origin struct {
	DC               string `json:"dc"`
	WatermarkMs      int64  `json:"watermark_ms"`
	Count60s         uint64 `json:"count_60s"`
	CumulativeCount  uint64 `json:"cumulative_count"`
	CumulativeMicros int64  `json:"cumulative_micros"`
	OffsetSum        int64  `json:"offset_sum"`
	Lost             uint64 `json:"lost"`
	Rejected         uint64 `json:"rejected"`
}

func originsOf(s *weirpb.ShardHealth) []origin {
	list := []origin{}
	for _, o := range s.GetOrigins() {
		list = append(list, origin{
			o.GetDc(), o.GetWatermarkMs(), o.GetCount_60S(), o.GetCumulativeCount(), o.GetCumulativeMicros(),
			o.GetOffsetSum(), o.GetLost(), o.GetRejected(),
		})
	}
	return list
}

// gap is the JSON form of a partition that could not be read.
type gap struct {
	Partition int32  `json:"partition"`
	State     string `json:"state"`
	Reason    string `json:"reason"`
}

// HealthJSON formats res as one JSON object, {"shards":[...],"gaps":[...]}, without a newline at
// the end.
func HealthJSON(res *weirpb.ListHealthResponse) ([]byte, error) {
	out := struct {
		Shards []shard `json:"shards"`
		Gaps   []gap   `json:"gaps"`
	}{Shards: []shard{}, Gaps: []gap{}}
	for _, s := range res.GetShards() {
		out.Shards = append(out.Shards, shard{
			s.GetWriterDc(), s.GetShard(), s.GetOwnerEpoch(), s.GetSequence(), s.GetTimestampMs(), s.GetApproxCount(),
			s.GetIngestCount(), s.GetWrittenAtMs(), s.GetCumulativeCount(), s.GetCumulativeMicros(), s.GetLost(),
			s.GetRejected(), s.GetIncarnation(), originsOf(s),
		})
	}
	for _, g := range res.GetGaps() {
		out.Gaps = append(out.Gaps, gap{g.GetPartition(), g.GetState(), g.GetReason()})
	}
	return marshal("health", out)
}

// HealthTable formats res for a terminal: one line per shard, and one for each shard that cannot be
// read. It ends with a newline. It leaves out the micros of a shard: they are a sum over
// currencies, which serves only to compare datasets.
func HealthTable(res *weirpb.ListHealthResponse) string {
	t := newTable()
	t.AppendHeader(table.Row{"writer", "shard", "last 60 s", "all time", "lost", "rejected", "newest event", "written"})
	right(t, 2, 3, 4, 5, 6)
	for _, s := range res.GetShards() {
		t.AppendRow(table.Row{
			plain(s.GetWriterDc()), s.GetShard(), s.GetApproxCount(), s.GetCumulativeCount(), s.GetLost(), s.GetRejected(),
			Time(s.GetTimestampMs()), Time(s.GetWrittenAtMs()),
		})
	}
	return healthText(res, t)
}

// OriginsTable formats res as HealthTable does, with one line for each shard and origin.
func OriginsTable(res *weirpb.ListHealthResponse) string {
	t := newTable()
	t.AppendHeader(table.Row{"writer", "shard", "origin", "last 60 s", "all time", "offsets", "lost", "rejected", "newest event"})
	right(t, 2, 4, 5, 6, 7, 8)
	for _, s := range res.GetShards() {
		for _, o := range s.GetOrigins() {
			t.AppendRow(table.Row{
				plain(s.GetWriterDc()), s.GetShard(), plain(o.GetDc()), o.GetCount_60S(), o.GetCumulativeCount(), o.GetOffsetSum(),
				o.GetLost(), o.GetRejected(), Time(o.GetWatermarkMs()),
			})
		}
	}
	return healthText(res, t)
}

// healthText returns the table of the shards, and the shards that cannot be read.
func healthText(res *weirpb.ListHealthResponse, t table.Writer) string {
	gaps := ""
	for _, g := range res.GetGaps() {
		gaps += fmt.Sprintf("shard %d cannot be read now: it is %s: %s\n", g.GetPartition(), plain(g.GetState()), plain(g.GetReason()))
	}
	if len(res.GetShards()) == 0 {
		return "no shard has written its health yet\n" + gaps
	}
	return t.Render() + "\n" + gaps
}
