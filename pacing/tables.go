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
	TableLeaders byte = 3 // AppendLeaderKey -> eventspb.ShardLeader
	TableDays    byte = 4 // AppendDayKey -> eventspb.DayBudgets, of days that are not billed yet
)

func budgetTable() *state.Table[[]byte, *eventspb.AccountBudgets] {
	return state.NewTable(TableBudgets, state.Bytes{}, state.Proto[*eventspb.AccountBudgets]{})
}

func packTable() *state.Table[[]byte, *eventspb.AccountPack] {
	return state.NewTable(TablePacks, state.Bytes{}, state.Proto[*eventspb.AccountPack]{})
}

func leaderTable() *state.Table[[]byte, *eventspb.ShardLeader] {
	return state.NewTable(TableLeaders, state.Bytes{}, state.Proto[*eventspb.ShardLeader]{})
}

func dayTable() *state.Table[[]byte, *eventspb.DayBudgets] {
	return state.NewTable(TableDays, state.Bytes{}, state.Proto[*eventspb.DayBudgets]{})
}

// AppendDayKey appends the key of the budgets of a day: the account, a zero byte, and the day in 4
// bytes, big endian.
func AppendDayKey(dst []byte, account string, day events.Day) []byte {
	return binary.BigEndian.AppendUint32(budget.AccountPrefix(dst, account), uint32(day))
}

// ParseDayKey returns the account and the day of a key.
func ParseDayKey(key []byte) (account string, day events.Day, err error) {
	n := len(key) - 5
	if n < 1 || key[n] != 0 {
		return "", 0, errors.New("pacing: the bytes are not the key of a budget day")
	}
	return string(key[:n]), events.Day(binary.BigEndian.Uint32(key[n+1:])), nil
}

// AppendLeaderKey appends the key of the leader of a shard: its number in 4 bytes, big endian.
func AppendLeaderKey(dst []byte, shard int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(shard))
}

// parseLeaderKey returns the shard of a key.
func parseLeaderKey(key []byte) (shard int32, err error) {
	if len(key) != 4 {
		return 0, errors.New("pacing: the bytes are not the key of a leader")
	}
	return int32(binary.BigEndian.Uint32(key)), nil
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
	leaders := leaderTable().Describe("leaders")
	leaders.Key = func(key []byte) ([]byte, error) {
		shard, err := parseLeaderKey(key)
		if err != nil {
			return nil, err
		}
		return json.Marshal(struct {
			Shard int32 `json:"shard"`
		}{shard})
	}
	leaders.Partition = func(key []byte) (int32, bool) {
		shard, err := parseLeaderKey(key)
		return shard, err == nil && shard >= 0 && shard < shards
	}
	days := dayTable().Describe("days")
	days.Key = func(key []byte) ([]byte, error) {
		account, day, err := ParseDayKey(key)
		if err != nil {
			return nil, err
		}
		return json.Marshal(struct {
			Account string `json:"account"`
			Day     string `json:"budget_day"`
		}{account, day.String()})
	}
	days.Partition = func(key []byte) (int32, bool) {
		account, _, err := ParseDayKey(key)
		return events.Shard(account, shards), err == nil
	}
	return []stream.TableInfo{budgets, packs, leaders, days}
}
