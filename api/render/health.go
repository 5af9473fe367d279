package render

import (
	"encoding/json"
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
}

// HealthJSON writes res as one JSON object, {"shards":[...]}, without a newline at its end.
func HealthJSON(res *weirpb.ListHealthResponse) ([]byte, error) {
	out := struct {
		Shards []shard `json:"shards"`
	}{Shards: []shard{}}
	for _, s := range res.GetShards() {
		out.Shards = append(out.Shards, shard{
			s.GetWriterDc(), s.GetShard(), s.GetOwnerEpoch(), s.GetSequence(), s.GetTimestampMs(), s.GetApproxCount(),
			s.GetIngestCount(), s.GetWrittenAtMs(), s.GetCumulativeCount(), s.GetCumulativeMicros(), s.GetLost(),
		})
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("write health as JSON: %w", err)
	}
	return b, nil
}

// HealthTable writes one line per shard for a terminal. It ends with a newline. The micros of a shard are a sum over
// currencies, which only compares datasets, so people do not get to see it.
func HealthTable(res *weirpb.ListHealthResponse) string {
	if len(res.GetShards()) == 0 {
		return "no shard of this process has written its health yet\n"
	}
	t := newTable()
	t.AppendHeader(table.Row{"writer", "shard", "last 60 s", "all time", "lost", "newest event", "written"})
	right(t, 2, 3, 4, 5)
	for _, s := range res.GetShards() {
		t.AppendRow(table.Row{
			plain(s.GetWriterDc()), s.GetShard(), s.GetApproxCount(), s.GetCumulativeCount(), s.GetLost(),
			Time(s.GetTimestampMs()), Time(s.GetWrittenAtMs()),
		})
	}
	return t.Render() + "\n"
}
