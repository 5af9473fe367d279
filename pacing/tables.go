package pacing

import (
	"encoding/binary"
	"encoding/json"
	"errors"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// State tables.
const (
	TableBudgets byte = 1 // budget.AppendKey -> eventspb.AccountBudgets
	TablePacks   byte = 2 // AppendPackKey -> eventspb.AccountPack
)

func budgetTable() *state.Table[[]byte, *eventspb.AccountBudgets] {
	return state.NewTable(TableBudgets, state.Bytes{}, state.Proto[*eventspb.AccountBudgets]{})
}

func packTable() *state.Table[[]byte, *eventspb.AccountPack] {
	return state.NewTable(TablePacks, state.Bytes{}, state.Proto[*eventspb.AccountPack]{})
}

// AppendPackKey appends the key of a pack: the account, a zero byte, and the number of the pack in
// 2 bytes, big endian. The keys of all packs of an account begin with budget.AccountPrefix.
func AppendPackKey(dst []byte, account string, part int) []byte {
	return binary.BigEndian.AppendUint16(budget.AccountPrefix(dst, account), uint16(part))
}

// ParsePackKey returns the account and the number of a pack.
func ParsePackKey(key []byte) (account string, part int, err error) {
	n := len(key) - 3
	if n < 1 || key[n] != 0 {
		return "", 0, errors.New("pacing: the bytes are not the key of a pack")
	}
	return string(key[:n]), int(binary.BigEndian.Uint16(key[n+1:])), nil
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
	packs := packTable().Describe("packs")
	packs.Key = func(key []byte) ([]byte, error) {
		account, part, err := ParsePackKey(key)
		if err != nil {
			return nil, err
		}
		return json.Marshal(struct {
			Account string `json:"account"`
			Part    int    `json:"part"`
		}{account, part})
	}
	packs.Partition = func(key []byte) (int32, bool) {
		account, _, err := ParsePackKey(key)
		return events.Shard(account, shards), err == nil
	}
	return []stream.TableInfo{budgets, packs}
}
