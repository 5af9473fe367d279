package jobqueue

import (
	"encoding/binary"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// pending is the set of pending jobs of one priority and signature. Most jobs enter it in ascending
// order and leave it from the front, so it is a queue of differences, of 1 to 3 bytes each. The
// others, which were delayed, return for a retry or are avoided by an agent, are in a bitmap.
//
// Nothing is removed from the middle of the queue: it may have jobs that are not pending any more,
// and jobs that are in the bitmap too. Reading drops them at the front. If most of a queue is not
// pending, remove copies the others to a new one.
type pending struct {
	n      int // jobs that are pending
	filled bool
	queued int // ids in the queue, with first
	first  ID  // of the queue
	last   ID  // of the queue
	off    int
	chunks [][]byte          // differences to the preceding id, from off in the first chunk on
	early  *roaring64.Bitmap // pending jobs that are not in the queue, or in its middle
}

const chunkSize = 512

// add adds a job that is pending by the matrix.
func (p *pending) add(id ID) {
	p.n++
	if !p.filled || id > p.last {
		p.push(id)
	} else {
		p.keep(id)
	}
}

// push puts id at the end of the queue.
func (p *pending) push(id ID) {
	p.queued++
	if !p.filled {
		p.first, p.last, p.filled = id, id, true
		p.chunks, p.off = nil, 0
		return
	}
	n := len(p.chunks)
	if n == 0 || len(p.chunks[n-1]) > chunkSize-binary.MaxVarintLen64 {
		p.chunks = append(p.chunks, nil)
		if n > 0 {
			p.chunks[n] = make([]byte, 0, chunkSize)
		}
		n++
	}
	p.chunks[n-1] = binary.AppendUvarint(p.chunks[n-1], uint64(id-p.last))
	p.last = id
}

// pop removes the first id of the queue.
func (p *pending) pop() {
	p.queued--
	if len(p.chunks) == 0 {
		p.filled = false
		return
	}
	diff, n := binary.Uvarint(p.chunks[0][p.off:])
	p.first += ID(diff)
	p.off += n
	if p.off == len(p.chunks[0]) {
		p.chunks[0], p.chunks, p.off = nil, p.chunks[1:], 0
	}
}

// keep puts id into the bitmap.
func (p *pending) keep(id ID) {
	if p.early == nil {
		p.early = roaring64.New()
	}
	p.early.Add(uint64(id))
}

// remove removes a job that is not pending any more by the matrix.
func (p *pending) remove(m *matrix, id ID) {
	if p.n--; p.n == 0 {
		*p = pending{}
		return
	}
	if p.early != nil {
		if p.early.Remove(uint64(id)); p.early.IsEmpty() {
			p.early = nil
		}
	}
	if p.queued <= 2*p.n+chunkSize {
		return
	}
	old := *p
	for *p = (pending{n: p.n, early: p.early}); old.filled; old.pop() {
		if m.state(old.first) == Pending {
			p.push(old.first)
		}
	}
}

// head returns the lowest pending id.
func (p *pending) head(m *matrix) (ID, bool) {
	for p.filled && m.state(p.first) != Pending {
		p.pop()
	}
	if p.early == nil {
		return p.first, p.filled
	}
	if low := ID(p.early.Minimum()); !p.filled || low < p.first {
		return low, true
	}
	return p.first, true
}

// find returns the lowest pending id for which ok returns true. Jobs at the front of the queue for
// which it returns false go to the bitmap, so that the next call does not step over the jobs that
// were behind them and have started since.
func (p *pending) find(m *matrix, ok func(ID) bool) (best ID, found bool) {
	if p.early != nil {
		for it := p.early.Iterator(); it.HasNext() && !found; {
			id := ID(it.Next())
			best, found = id, ok(id)
		}
	}
	for ; p.filled && (!found || p.first < best); p.pop() {
		if m.state(p.first) != Pending {
			continue
		}
		if ok(p.first) {
			return p.first, true
		}
		p.keep(p.first)
	}
	if !found {
		return 0, false
	}
	return best, true
}
