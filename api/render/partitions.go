package render

import (
	"encoding/json"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirhq/weir/api/weirpb"
)

type partition struct {
	App           string           `json:"app"`
	Partition     int32            `json:"partition"`
	State         string           `json:"state"`
	Reason        string           `json:"reason"`
	OwnerEpoch    uint64           `json:"owner_epoch"`
	Sequence      uint64           `json:"sequence"`
	NextOffsets   map[string]int64 `json:"next_offsets"`
	Lag           *int64           `json:"lag"`
	ChangelogNext int64            `json:"changelog_next"`
	Instance      string           `json:"instance"`
}

// PartitionsJSON formats res as one JSON object, {"partitions":[...]}, without a newline at the
// end. An unknown lag is null.
func PartitionsJSON(res *weirpb.ListPartitionsResponse) ([]byte, error) {
	out := struct {
		Partitions []partition `json:"partitions"`
	}{Partitions: []partition{}}
	for _, p := range res.GetPartitions() {
		out.Partitions = append(out.Partitions, partition{
			p.GetApp(), p.GetPartition(), p.GetState(), p.GetReason(), p.GetOwnerEpoch(), p.GetSequence(),
			orEmpty(p.GetNextOffsets()), p.Lag, p.GetChangelogNext(), p.GetInstance(),
		})
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode partitions as JSON: %w", err)
	}
	return b, nil
}

// PartitionsTable formats res for a terminal: one line per task, with the reason of stopped ones.
// It ends with a newline.
func PartitionsTable(res *weirpb.ListPartitionsResponse) string {
	if len(res.GetPartitions()) == 0 {
		return "no process has a partition\n"
	}
	t := newTable()
	t.AppendHeader(table.Row{"app", "partition", "process", "state", "lag", "next offsets", "reason"})
	right(t, 2, 5)
	for _, p := range res.GetPartitions() {
		t.AppendRow(table.Row{
			plain(p.GetApp()), p.GetPartition(), plain(p.GetInstance()), plain(p.GetState()), Lag(p), offsetsText(p.GetNextOffsets()),
			plain(p.GetReason()),
		})
	}
	return t.Render() + "\n"
}
