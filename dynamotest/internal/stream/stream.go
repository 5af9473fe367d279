package stream

import (
	"cmp"
	"fmt"
	"time"

	"github.com/weirhq/weir/dynamotest/internal/item"
)

// Retention is the time for which DynamoDB keeps a record.
const Retention = 24 * time.Hour

// Record is one change of one item. Old is empty if the item was new, New if it was deleted, and
// both if the stream's view does not have them.
type Record struct {
	Event    string // INSERT, MODIFY or REMOVE
	Seq      uint64 // the sequence number
	At       int64  // nanoseconds since 1970
	Visible  int64  // time from which it can be read, in nanoseconds since 1970
	Keys     item.Item
	Old, New item.Item
}

// Settings are the number of a stream's shards, their rollovers, and the life of records. With the
// zero value a stream has one shard, which never closes.
type Settings struct {
	Shards          int           // of a new stream. Defaults to 1.
	MaxShards       int           // maximum of open shards; rollovers split shards until then. Defaults to Shards.
	Rollover        time.Duration // time after which a shard closes. Defaults to no limit.
	RolloverRecords int           // number of records after which a shard closes. Defaults to no limit.
	Retention       time.Duration // time for which a record can be read. Defaults to Retention.
}

// retention returns Retention in nanoseconds, or its default.
func (s Settings) retention() int64 { return int64(cmp.Or(s.Retention, Retention)) }

// Stream is the change records of one table since its stream was enabled.
type Stream struct {
	settings Settings
	shards   []*Shard // in the order in which they opened
	open     []*Shard // ascending by hash
	seq      uint64   // the last sequence number
	rolls    int      // number of rollovers
	nextRoll int64    // time of the next rollover
	trimmed  int64    // time at which all shards were last trimmed
	ended    bool
}

// New returns a stream that was enabled at now.
func New(s Settings, now int64) *Stream {
	s.Shards = max(s.Shards, 1)
	s.MaxShards = max(s.MaxShards, s.Shards)
	st := &Stream{settings: s, trimmed: now}
	width := ^uint64(0)/uint64(s.Shards) + 1 // 0 for one shard, whose range ends at the last hash
	for i := range s.Shards {
		low, high := width*uint64(i), width*uint64(i+1)-1
		if i == s.Shards-1 {
			high = ^uint64(0)
		}
		sh := st.openShard(nil, low, high, now)
		// The first rollovers are spread over the period, so that they do not coincide.
		sh.rollAt = now + int64(s.Rollover)*int64(i+1)/int64(s.Shards)
	}
	st.findNextRoll()
	return st
}

// Add appends a record for a key with that hash, and returns it with its sequence number. r.Visible
// is the time from which it can be read; Add raises it to that of the shard's previous record.
func (st *Stream) Add(now int64, hash uint64, r Record) Record {
	st.Advance(now)
	sh := st.find(hash)
	st.seq++
	r.Seq, r.At, r.Visible = st.seq, now, max(r.Visible, sh.visible)
	sh.visible = r.Visible
	sh.records = append(sh.records, r)
	sh.taken++
	if n := st.settings.RolloverRecords; n > 0 && sh.taken >= n {
		st.roll(sh, now)
	}
	return r
}

// Advance carries out the rollovers and trims that are due at now.
func (st *Stream) Advance(now int64) {
	for !st.ended && st.settings.Rollover > 0 && st.nextRoll <= now {
		for _, sh := range st.open {
			if sh.rollAt == st.nextRoll {
				st.roll(sh, sh.rollAt)
				break
			}
		}
	}
	if now-st.trimmed > int64(time.Minute) {
		st.trimmed = now
		st.trim(now)
	}
}

// End closes all shards, because the stream was disabled or its table deleted. The records can
// still be read.
func (st *Stream) End(now int64) {
	st.Advance(now)
	st.ended = true
	for _, sh := range st.open {
		st.close(sh, now)
	}
	st.open = nil
}

// Ended reports whether the stream is disabled.
func (st *Stream) Ended() bool { return st.ended }

// Expired reports whether the stream is disabled and has no shards left.
func (st *Stream) Expired(now int64) bool {
	st.Advance(now)
	return st.ended && len(st.shards) == 0
}

func (st *Stream) find(hash uint64) *Shard {
	for _, sh := range st.open {
		if hash <= sh.high {
			return sh
		}
	}
	return st.open[len(st.open)-1] // its range ends at the last hash
}

// openShard adds a shard and keeps the open shards sorted.
func (st *Stream) openShard(parent *Shard, low, high uint64, now int64) *Shard {
	st.seq++
	sh := &Shard{
		First: st.seq, retention: st.settings.retention(), low: low, high: high, rollAt: now + int64(st.settings.Rollover), visible: now,
		trimmed: st.seq,
	}
	if parent != nil {
		sh.Parent = parent.ID
		// A child must not show later records while its parent hides earlier ones.
		sh.visible = max(now, parent.visible)
	}
	sh.ID = fmt.Sprintf("shardId-%020d-%08x", now/int64(time.Millisecond), st.seq)
	st.shards = append(st.shards, sh)
	at := 0
	for at < len(st.open) && st.open[at].low < low {
		at++
	}
	st.open = append(st.open, nil)
	copy(st.open[at+1:], st.open[at:])
	st.open[at] = sh
	return sh
}

func (st *Stream) close(sh *Shard, now int64) {
	st.seq++
	sh.Last, sh.closed = st.seq, now
}

// roll closes an open shard and opens its child, or two children: every third rollover splits.
func (st *Stream) roll(sh *Shard, now int64) {
	st.close(sh, now)
	st.rolls++
	for i, o := range st.open {
		if o == sh {
			st.open = append(st.open[:i], st.open[i+1:]...)
			break
		}
	}
	if len(st.open)+2 <= st.settings.MaxShards && st.rolls%3 == 1 && sh.low < sh.high {
		middle := sh.low + (sh.high-sh.low)/2
		st.openShard(sh, sh.low, middle, now)
		st.openShard(sh, middle+1, sh.high, now)
	} else {
		st.openShard(sh, sh.low, sh.high, now)
	}
	st.findNextRoll()
}

func (st *Stream) findNextRoll() {
	st.nextRoll = st.open[0].rollAt
	for _, sh := range st.open {
		st.nextRoll = min(st.nextRoll, sh.rollAt)
	}
}

// trim drops the records that are older than the retention, and the shards that closed before that.
func (st *Stream) trim(now int64) {
	kept := st.shards[:0]
	for _, sh := range st.shards {
		sh.trim(now)
		if sh.Last == 0 || sh.closed >= now-sh.retention {
			kept = append(kept, sh)
		}
	}
	clear(st.shards[len(kept):])
	st.shards = kept
}
