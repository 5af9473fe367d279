package dedup

import (
	"encoding/json"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

func keyTable() *state.Table[string, Key] {
	return state.NewTable(TableKeys, state.String{}, keys())
}

func poolTable() *state.Table[string, pool] {
	return state.NewTable(TablePools, state.String{}, pools())
}

func countTable() *state.Table[string, int64] {
	return state.NewTable(TableCounts, state.String{}, state.Varint{})
}

// tables describes the tables to people.
func tables() []stream.TableInfo {
	return []stream.TableInfo{keyTable().Describe("keys"), poolTable().Describe("pools"), countTable().Describe("counts")}
}

// MarshalJSON implements json.Marshaler, for people.
func (p pool) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Version    int64  `json:"version"`
		Mode       string `json:"mode"`
		Quarantine int64  `json:"quarantine_ms"`
		Buckets    int32  `json:"buckets"`
	}{p.version, p.mode, p.quarantine, p.buckets})
}

// Canonical returns the part of a value that the changes alone determine: the settings of pools.
// The rows of keys, and how long they are kept, depend on the times at which timers fired. See
// stream.Processor.
func Canonical(table byte, _, value []byte) []byte {
	if table == TablePools {
		return value
	}
	return nil
}
