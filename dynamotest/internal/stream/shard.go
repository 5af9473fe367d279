package stream

import (
	"errors"
	"slices"
	"sort"
)

// ErrTrimmed means that records after the place asked for are no longer kept.
var ErrTrimmed = errors.New("records after this place are no longer kept")

// ErrPlace means that a sequence number is not one of the shard's.
var ErrPlace = errors.New("the sequence number is not of this shard")

// Shard is a part of a stream: the changes of the keys in a range of hashes, during some time.
type Shard struct {
	ID          string
	Parent      string // the ID of the shard that it continues, "" for the first ones
	First, Last uint64 // its range of sequence numbers; Last is 0 while it is open

	low, high uint64 // its range of hashes
	rollAt    int64
	closed    int64  // when, if Last is not 0
	visible   int64  // from when on its last record can be read
	taken     int    // records ever added
	trimmed   uint64 // the number of the last record dropped, First if none was
	records   []Record
}

// Shard returns the shard of that ID, nil if there is none (any more).
func (st *Stream) Shard(id string, now int64) *Shard {
	for _, sh := range st.Shards(now) {
		if sh.ID == id {
			return sh
		}
	}
	return nil
}

// Shards returns the shards, by the time when they opened.
func (st *Stream) Shards(now int64) []*Shard {
	st.Advance(now)
	st.trim(now)
	return st.shards
}

// Horizon returns the place before the oldest record that is kept.
func (sh *Shard) Horizon(now int64) uint64 {
	sh.trim(now)
	return sh.trimmed
}

// End returns the place after the newest record.
func (sh *Shard) End() uint64 {
	if n := len(sh.records); n > 0 {
		return sh.records[n-1].Seq
	}
	return sh.trimmed
}

// Place returns the place after the record seq, or before it if at is true.
// ErrPlace if the shard does not have this number, ErrTrimmed if it has no longer.
func (sh *Shard) Place(seq uint64, at bool, now int64) (uint64, error) {
	sh.trim(now)
	switch {
	case seq < sh.First || sh.Last != 0 && seq > sh.Last || sh.Last == 0 && seq > sh.End():
		return 0, ErrPlace
	case seq <= sh.trimmed && sh.trimmed > sh.First:
		return 0, ErrTrimmed
	case at:
		return seq - 1, nil
	default:
		return seq, nil
	}
}

// Read returns at most limit records after the place given, those that can be seen by now. end is true
// after the last record of a closed shard.
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

// trim drops the records that are too old.
func (sh *Shard) trim(now int64) {
	old := sort.Search(len(sh.records), func(i int) bool { return sh.records[i].At >= now-int64(Retention) })
	if old > 0 {
		sh.trimmed = sh.records[old-1].Seq
		clear(sh.records[:old]) // or the items live on behind the slice
		sh.records = sh.records[old:]
	}
}
