package render

import (
	"encoding/hex"
	"fmt"

	"github.com/jedib0t/go-pretty/v6/table"

	"github.com/weirhq/weir/api/weirpb"
)

type tableHash struct {
	Table uint32 `json:"table"`
	Name  string `json:"name"`
	Keys  int64  `json:"keys"`
	Bytes int64  `json:"bytes"`
	Hash  string `json:"sha256"`
}

type partitionHash struct {
	Partition int32       `json:"partition"`
	Tables    []tableHash `json:"tables"`
	AsOf      *asOf       `json:"as_of"`
}

// HashJSON formats res as one JSON object, {"partitions":[...]}, without a newline at the end.
func HashJSON(res *weirpb.HashStateResponse) ([]byte, error) {
	out := struct {
		Partitions []partitionHash `json:"partitions"`
	}{Partitions: []partitionHash{}}
	for _, p := range res.GetPartitions() {
		h := partitionHash{Partition: p.GetAsOf().GetPartition(), Tables: []tableHash{}, AsOf: asOfOf(p.GetAsOf())}
		for _, t := range p.GetTables() {
			h.Tables = append(h.Tables, tableHash{t.GetTable(), t.GetName(), t.GetKeys(), t.GetBytes(), hex.EncodeToString(t.GetHash())})
		}
		out.Partitions = append(out.Partitions, h)
	}
	return marshal("the hashes", out)
}

// HashTable formats res for a terminal: one line for each table of each partition. It ends with a
// newline.
func HashTable(res *weirpb.HashStateResponse) string {
	t := newTable()
	t.AppendHeader(table.Row{"partition", "table", "keys", "bytes", "sha256", "changelog", "served by"})
	right(t, 1, 3, 4, 6)
	for _, p := range res.GetPartitions() {
		at := p.GetAsOf()
		if len(p.GetTables()) == 0 {
			t.AppendRow(table.Row{at.GetPartition(), "none", 0, 0, "", at.GetChangelogNext(), servedText(at.GetServedBy())})
		}
		for _, h := range p.GetTables() {
			name := plain(h.GetName())
			if name == "" {
				name = fmt.Sprint(h.GetTable())
			}
			t.AppendRow(table.Row{
				at.GetPartition(), name, h.GetKeys(), h.GetBytes(), hex.EncodeToString(h.GetHash()), at.GetChangelogNext(),
				servedText(at.GetServedBy()),
			})
		}
	}
	return t.Render() + "\n"
}
