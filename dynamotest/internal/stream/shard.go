package stream

import (
	"errors"
	"slices"
	"sort"
)

// ErrTrimmed means that records after the requested position are no longer kept.
var ErrTrimmed = errors.New("records after this position are no longer kept")

// ErrSequence means that the shard does not have the sequence number.
var ErrSequence = errors.New("the shard does not have this sequence number")

// Shard is a part of a stream: the changes of the keys in a range of hashes during a period. A
// position in it is the sequence number before the next record.
type Shard struct {
	ID          string
	Parent      string // the ID of the shard that it continues, "" for the first shards
	First, Last uint64 // its range of sequence numbers; Last is 0 while it is open

	retention int64  // of its records
	low, high uint64 // its range of hashes
	rollAt    int64
	closed    int64  // time of its end, if Last is not 0
	visible   int64  // time from which its last record can be read
	taken     int    // number of records added so far
	trimmed   uint64 // sequence number of the last trimmed record, First if none was trimmed
	records   []Record
}

// Shard returns the shard with that ID, or nil if it does not exist or has expired.
func (st *Stream) Shard(id string, now int64) *Shard {
	for _, sh := range st.Shards(now) {
		if sh.ID == id {
			return sh
		}
	}
	return nil
}

// Shards returns the shards in the order in which they opened.
func (st *Stream) Shards(now int64) []*Shard {
	st.Advance(now)
	st.trim(now)
	return st.shards
}

// Horizon returns the position before the oldest record.
func (sh *Shard) Horizon(now int64) uint64 {
	sh.trim(now)
	return sh.trimmed
}

// End returns the position after the newest record.
func (sh *Shard) End() uint64 {
	if n := len(sh.records); n > 0 {
		return sh.records[n-1].Seq
	}
	return sh.trimmed
}

// Position returns the position after the record seq, or before it if at is true. The error is
// ErrSequence if the shard never had this number, and ErrTrimmed if the record was trimmed.
func (sh *Shard) Position(seq uint64, at bool, now int64) (uint64, error) {
	sh.trim(now)
	switch {
	case seq < sh.First || sh.Last != 0 && seq > sh.Last || sh.Last == 0 && seq > sh.End():
		return 0, ErrSequence
	case seq <= sh.trimmed && sh.trimmed > sh.First:
		return 0, ErrTrimmed
	case at:
		return seq - 1, nil
	default:
		return seq, nil
	}
}

// Read returns at most limit records after a position, as far as they are visible at now. end is
// true after the last record of a closed shard. The error is ErrTrimmed if a record after the
// position was trimmed.
func (sh *Shard) Read(after uint64, limit int, now int64) (records []Record, end bool, err error) {
	sh.trim(now)
	if after < sh.trimmed && sh.trimmed > sh.First {
		return nil, false, ErrTrimmed
	}
	from := sort.Search(len(sh.records), func(i int) bool { return sh.records[i].Seq > after })
	to := from
	for to < len(sh.records) && to-from < limit && sh.records[to].Visible <= now {
		to++
	}
	return slices.Clone(sh.records[from:to]), sh.Last != 0 && to == len(sh.records), nil
}

// trim drops the records that are older than the retention.
func (sh *Shard) trim(now int64) {
	old := sort.Search(len(sh.records), func(i int) bool { return sh.records[i].At >= now-sh.retention })
	if old > 0 {
		sh.trimmed = sh.records[old-1].Seq
		clear(sh.records[:old]) // or the slice's array would keep the items alive
		sh.records = sh.records[old:]
	}
}
