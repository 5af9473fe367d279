package mirror

import (
	"crypto/sha256"
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
	// Log is the id of the log in the origin headers of the copies; zero: that of the topic. It is
	// another one after the peer has lost copied records: see lostLog.
	Log logreader.TopicID `json:"log_id,omitzero"`
}

// log returns the id of the log in the origin headers of the copies.
func (p position) log() logreader.TopicID {
	if p.Log != (logreader.TopicID{}) {
		return p.Log
	}
	return p.Topic
}

// lostLog returns the id of the log that a peer has after it has lost records of the log with id
// was, of which those before offset next were copied, and those from offset from on are lost. It
// differs from the id of each log before it, so that the records at the offsets of the lost ones
// are not taken for the lost ones, and so that an instruction to copy from there is carried out
// once.
func lostLog(was logreader.TopicID, next, from int64) logreader.TopicID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s lost %d to %d", was, from, next))
	return logreader.TopicID(sum[:16])
}
