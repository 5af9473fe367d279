package bridge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	retention       = 24 * time.Hour // for which a stream keeps records
	shardMemory     = 48 * time.Hour // for which a finished shard is remembered: twice as long as it is listed
	confirmListings = 2              // complete listings in a row that must lack a shard
)

// lineage is the tree of the shards of one stream: the parent of each shard, which shards are
// finished, and which may be read. It makes no request and reads no clock.
type lineage struct {
	nodes map[string]*node
}

// node is a shard with what is not in the state.
type node struct {
	shard
	reading  bool
	gone     bool // a request for it found no such shard: another listing is needed
	missing  int  // complete listings in a row that lack it
	orphaned int  // complete listings in a row that lack its parent, which is unknown, too
}

func newLineage(known []shard) *lineage {
	l := &lineage{nodes: map[string]*node{}}
	for _, s := range known {
		l.nodes[s.ID] = &node{shard: s}
	}
	return l
}

// listingDiff is how a listing changed a lineage.
type listingDiff struct {
	found     []shard
	lost      []shard // not read to their end, and no longer listed
	forgotten []shard // finished long ago
}

// learn applies a listing: of the whole stream, or of a part of it.
func (l *lineage) learn(list []shard, whole bool, nowMs int64) (n listingDiff) {
	listed := map[string]bool{}
	for _, s := range list {
		listed[s.ID] = true
		if l.nodes[s.ID] == nil {
			s.FoundMs = nowMs
			l.nodes[s.ID] = &node{shard: s}
			n.found = append(n.found, s)
		}
	}
	if !whole {
		return n
	}
	for id, x := range l.nodes {
		switch {
		case listed[id]:
			x.missing, x.gone = 0, false
		case x.FinishedMs > 0:
			if nowMs-x.FinishedMs > shardMemory.Milliseconds() {
				delete(l.nodes, id)
				n.forgotten = append(n.forgotten, x.shard)
			}
		case x.reading: // it still exists
		default:
			if x.missing++; x.missing >= confirmListings {
				x.FinishedMs = nowMs
				n.lost = append(n.lost, x.shard)
			}
		}
	}
	for _, x := range l.nodes {
		if x.Parent == "" || l.nodes[x.Parent] != nil || listed[x.Parent] {
			x.orphaned = 0
		} else {
			x.orphaned++
		}
	}
	return n
}

// ready returns the shards that may be read and are not being read, the oldest first. The caller
// sets reading.
func (l *lineage) ready(nowMs int64) (list []*node) {
	for _, x := range l.nodes {
		if x.FinishedMs == 0 && !x.reading && !x.gone && l.parentDone(x, nowMs) {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b *node) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

func (l *lineage) parentDone(x *node, nowMs int64) bool {
	if x.Parent == "" {
		return true
	}
	if p := l.nodes[x.Parent]; p != nil {
		return p.FinishedMs > 0
	}
	return x.orphaned >= confirmListings && pastRetention(x.Parent, nowMs)
}

// pastRetention reports whether a shard may be older than the retention of streams. An id of AWS
// holds the time at which the shard was made, in 20 digits. For other ids it returns true, so that
// the listings alone decide.
func pastRetention(id string, nowMs int64) bool {
	digits, _, _ := strings.Cut(strings.TrimPrefix(id, "shardId-"), "-")
	ms, err := strconv.ParseInt(digits, 10, 64)
	return err != nil || nowMs-ms > retention.Milliseconds()
}

// needsListing reports whether another listing should follow soon.
func (l *lineage) needsListing() bool {
	for _, x := range l.nodes {
		if x.FinishedMs == 0 && (x.gone || x.missing > 0 || x.orphaned > 0 && !x.reading && x.orphaned < confirmListings) {
			return true
		}
	}
	return false
}

// open returns the number of shards that are not finished.
func (l *lineage) open() (n int) {
	for _, x := range l.nodes {
		if x.FinishedMs == 0 {
			n++
		}
	}
	return n
}
