package mirror

import (
	"fmt"

	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
	"github.com/weirhq/weir/stream/state"
)

// Numbers of the state tables. Values are JSON: there are few rows, and operators read them.
const (
	positionTable    byte = 1
	instructionTable byte = 2
	skipTable        byte = 3
)

// tables are the state tables of a mirror. Keys are those of copyKey.
type tables struct {
	positions    *state.Table[string, position]
	instructions *state.Table[string, Instruction] // that are not carried out yet
	skips        *state.Table[string, Instruction] // that were, by skipKey
}

func newTables() tables {
	key := state.String{}
	return tables{
		positions:    state.NewTable(positionTable, key, state.JSON[position]{}),
		instructions: state.NewTable(instructionTable, key, state.JSON[Instruction]{}),
		skips:        state.NewTable(skipTable, key, state.JSON[Instruction]{}),
	}
}

func tableInfos() []stream.TableInfo {
	t := newTables()
	return []stream.TableInfo{t.positions.Describe("positions"), t.instructions.Describe("instructions"), t.skips.Describe("skips")}
}

// copyKey names a topic of a peer.
func copyKey(dc, topic string) string { return dc + "/" + topic }

// skipKey is the key of an instruction that was carried out: the newest is the last.
func skipKey(i Instruction) string {
	return fmt.Sprintf("%s/%013d/%d", copyKey(i.Peer, i.Topic), i.AtMs, i.From)
}

// position is the place in a peer's partition up to which records were copied.
type position struct {
	logreader.Position

	Last int64 `json:"last"` // offset of the last copied record; -1: none
}
