package bridge

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	retention       = 24 * time.Hour // of a stream's records
	shardMemory     = 48 * time.Hour // a shard that was finished; twice as long as it can be listed
	confirmListings = 2              // whole listings in a row that must lack a shard
)

// lineage is the shards of one stream: whose child each is, which are finished, and which may be read. It asks nobody and
// knows no clock.
type lineage struct {
	nodes map[string]*node
}

// node is a shard with what is not kept in the state.
type node struct {
	shard
	reading  bool
	gone     bool // a reader was told that there is no such shard: list again
	missing  int  // whole listings in a row that lack it
	orphaned int  // whole listings in a row that lack its parent, which is not known either
}

func newLineage(known []shard) *lineage {
	l := &lineage{nodes: map[string]*node{}}
	for _, s := range known {
		l.nodes[s.ID] = &node{shard: s}
	}
	return l
}

// listingDiff is what a listing brought.
type listingDiff struct {
	found     []shard
	lost      []shard // not read to their end, and not there any more
	forgotten []shard // finished long ago
}

// learn takes a listing: of the whole stream, or a part of it.
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
		case x.reading: // it can still be read
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

// ready gives the shards that may be read and are not, the oldest first. It is for the caller to set reading.
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

// pastRetention says whether a shard may be older than what a stream keeps. Its id has the time at which it was made, in 20 digits; of
// one that has not, the listings alone must tell.
func pastRetention(id string, nowMs int64) bool {
	digits, _, _ := strings.Cut(strings.TrimPrefix(id, "shardId-"), "-")
	ms, err := strconv.ParseInt(digits, 10, 64)
	return err != nil || nowMs-ms > retention.Milliseconds()
}

// needsListing says whether another listing should come soon.
func (l *lineage) needsListing() bool {
	for _, x := range l.nodes {
		if x.FinishedMs == 0 && (x.gone || x.missing > 0 || x.orphaned > 0 && !x.reading && x.orphaned < confirmListings) {
			return true
		}
	}
	return false
}

// open is how many shards are not finished.
func (l *lineage) open() (n int) {
	for _, x := range l.nodes {
		if x.FinishedMs == 0 {
			n++
		}
	}
	return n
}
