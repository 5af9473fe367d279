package pacing

import (
	"encoding/json"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// State tables.
const (
	TableBudgets byte = 1 // budget.AppendKey -> eventspb.AccountBudgets
)

func budgetTable() *state.Table[[]byte, *eventspb.AccountBudgets] {
	return state.NewTable(TableBudgets, state.Bytes{}, state.Proto[*eventspb.AccountBudgets]{})
}

// tables describes the tables to people. shards is the number of partitions.
func tables(shards int32) []stream.TableInfo {
	budgets := budgetTable().Describe("budgets")
	budgets.Key = func(key []byte) ([]byte, error) {
		account, version, err := budget.ParseKey(key)
		if err != nil {
			return nil, err
		}
		return json.Marshal(struct {
			Account string `json:"account"`
			Version uint64 `json:"version"`
		}{account, version})
	}
	budgets.Partition = func(key []byte) (int32, bool) {
		account, _, err := budget.ParseKey(key)
		return events.Shard(account, shards), err == nil
	}
	return []stream.TableInfo{budgets}
}
