package stream

import (
	"fmt"
	"slices"
)

// State is a stream without its records, as it is stored.
type State struct {
	Settings Settings
	Seq      uint64
	Rolls    int
	Ended    bool
	Shards   []ShardState
}

// ShardState is a shard without its records, as it is stored.
type ShardState struct {
	ID, Parent     string
	First, Last    uint64
	Low, High      uint64
	RollAt, Closed int64
	Visible        int64
	Taken          int
	Trimmed        uint64
}

// State returns the present state of the stream without its records.
func (st *Stream) State(now int64) State {
	out := State{Settings: st.settings, Rolls: st.rolls, Ended: st.ended}
	for _, sh := range st.Shards(now) {
		out.Shards = append(out.Shards, ShardState{
			ID: sh.ID, Parent: sh.Parent, First: sh.First, Last: sh.Last, Low: sh.low, High: sh.high,
			RollAt: sh.rollAt, Closed: sh.closed, Visible: sh.visible, Taken: sh.taken, Trimmed: sh.trimmed,
		})
	}
	out.Seq = st.seq
	return out
}

// Restore returns a stream with that state. Put adds its records.
func Restore(s State, now int64) *Stream {
	st := &Stream{settings: s.Settings, seq: s.Seq, rolls: s.Rolls, ended: s.Ended, trimmed: now}
	for _, x := range s.Shards {
		sh := &Shard{
			ID: x.ID, Parent: x.Parent, First: x.First, Last: x.Last, retention: s.Settings.retention(), low: x.Low, high: x.High,
			rollAt: x.RollAt, closed: x.Closed, visible: x.Visible, taken: x.Taken, trimmed: x.Trimmed,
		}
		st.shards = append(st.shards, sh)
		if sh.Last == 0 {
			st.open = append(st.open, sh)
		}
	}
	slices.SortFunc(st.open, func(a, b *Shard) int {
		if a.low < b.low {
			return -1
		}
		return 1
	})
	if len(st.open) > 0 {
		st.findNextRoll()
	}
	return st
}

// Records returns all records of the shard that are kept.
func (sh *Shard) Records() []Record { return slices.Clone(sh.records) }

// Put adds the next record to a shard of a restored stream. It returns an error if the shard does
// not exist.
func (st *Stream) Put(shard string, r Record) error {
	for _, sh := range st.shards {
		if sh.ID == shard {
			sh.records = append(sh.records, r)
			return nil
		}
	}
	return fmt.Errorf("a record belongs to the shard %q, which does not exist", shard)
}
