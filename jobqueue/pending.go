package jobqueue

import (
	"encoding/binary"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
)

// pending is the set of pending jobs of one priority and signature. Most jobs enter it in ascending
// order and leave it from the front, so it is a queue of differences, of 1 to 3 bytes each. The
// others, which were delayed or return for a retry, are in a bitmap.
//
// Nothing is removed from the middle: the set may have jobs that are not pending any more, and a
// job twice. Reading skips what is not pending by the matrix.
type pending struct {
	n      int // jobs that are pending
	filled bool
	first  ID // of the queue
	last   ID // of the queue
	off    int
	chunks [][]byte // differences to the preceding id, from off in the first chunk on
	early  *roaring64.Bitmap
}

const chunkSize = 512

// add adds a job that is pending by the matrix.
func (p *pending) add(id ID) {
	p.n++
	switch {
	case !p.filled:
		p.first, p.last, p.filled = id, id, true
		p.chunks, p.off = nil, 0
	case id > p.last:
		p.push(uint64(id - p.last))
		p.last = id
	default:
		if p.early == nil {
			p.early = roaring64.New()
		}
		p.early.Add(uint64(id))
	}
}

func (p *pending) push(diff uint64) {
	n := len(p.chunks)
	if n == 0 || len(p.chunks[n-1]) > chunkSize-binary.MaxVarintLen64 {
		p.chunks = append(p.chunks, nil)
		if n > 0 {
			p.chunks[n] = make([]byte, 0, chunkSize)
		}
		n++
	}
	p.chunks[n-1] = binary.AppendUvarint(p.chunks[n-1], diff)
}

// pop removes the first id of the queue.
func (p *pending) pop() {
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

// head returns the lowest pending id, and forgets what is not pending in front of it.
func (p *pending) head(m *matrix) (ID, bool) {
	for p.filled && m.state(p.first) != Pending {
		p.pop()
	}
	for p.early != nil {
		if p.early.IsEmpty() {
			p.early = nil
			break
		}
		low := ID(p.early.Minimum())
		if m.state(low) == Pending {
			return min(low, p.firstOr(low)), true
		}
		p.early.Remove(uint64(low))
	}
	return p.first, p.filled
}

func (p *pending) firstOr(id ID) ID {
	if p.filled {
		return p.first
	}
	return id
}

// find returns the lowest pending id for which ok returns true.
func (p *pending) find(m *matrix, ok func(ID) bool) (best ID, found bool) {
	for q := *p; q.filled; q.skip() {
		if m.state(q.first) == Pending && ok(q.first) {
			best, found = q.first, true
			break
		}
	}
	if p.early == nil {
		return best, found
	}
	for it := p.early.Iterator(); it.HasNext(); {
		id := ID(it.Next())
		if found && id >= best {
			break
		}
		if m.state(id) == Pending && ok(id) {
			return id, true
		}
	}
	return best, found
}

// skip is pop on a copy of the queue, of which it must not change the chunks.
func (p *pending) skip() {
	if len(p.chunks) == 0 {
		p.filled = false
		return
	}
	diff, n := binary.Uvarint(p.chunks[0][p.off:])
	p.first += ID(diff)
	p.off += n
	if p.off == len(p.chunks[0]) {
		p.chunks, p.off = p.chunks[1:], 0
	}
}
