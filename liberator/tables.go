package liberator

import (
	"encoding/json"

	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

func resourceTable() *state.Table[string, Resource] {
	return state.NewTable(TableResources, state.String{}, resources())
}

func poolTable() *state.Table[string, pool] {
	return state.NewTable(TablePools, state.String{}, pools())
}

func budgetTable() *state.Table[string, int64] {
	return state.NewTable(TableBudgets, state.String{}, state.Varint{})
}

func countTable() *state.Table[string, int64] {
	return state.NewTable(TableCounts, state.String{}, state.Varint{})
}

// tables describes the tables to people.
func tables() []stream.TableInfo {
	return []stream.TableInfo{
		resourceTable().Describe("resources"), poolTable().Describe("pools"),
		budgetTable().Describe("budgets"), countTable().Describe("counts"),
	}
}

// MarshalJSON implements json.Marshaler, for people.
func (p pool) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Version    int64 `json:"version"`
		Quarantine int64 `json:"quarantine_ms"`
		Buckets    int32 `json:"buckets"`
	}{p.version, p.quarantine, p.buckets})
}

// Canonical returns the part of a value that the changes alone determine. Budgets, timers and
// commands depend on the times at which timers fired. See stream.Processor.
func Canonical(table byte, _, value []byte) []byte {
	switch table {
	case TableResources:
		r, err := ParseResource(value)
		if err != nil {
			return value
		}
		r.Timer, r.Tries, r.HasSlot = 0, 0, false
		return r.append(nil)
	case TableBudgets:
		return nil
	}
	return value
}
