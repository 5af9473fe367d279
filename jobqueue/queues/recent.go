package queues

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/jobqueue"
)

// recentBytes is the memory of a shard for recent submissions, about.
const recentBytes = 8 << 20

// recent has the jobs that were submitted last, so that the start of a job soon after its submit
// needs no read. The rows of a job are written once, so it is never out of date. Two maps take
// turns: when the new one has half of the memory, the old one is forgotten.
type recent struct {
	now, before map[jobqueue.ID]submission
	size        int // of all that were added to now, in bytes
}

// add remembers a job whose rows are written.
func (r *recent) add(x *submission) {
	const overhead = 200 // of the message, its strings and the map
	size := overhead + proto.Size(x.job) + len(x.payload)
	if r.size += size; r.now == nil || r.size > recentBytes/2 {
		r.now, r.before, r.size = map[jobqueue.ID]submission{}, r.now, size
	}
	r.now[x.id] = *x
}

// take returns a job, if it is remembered, and forgets it: most jobs start once.
func (r *recent) take(id jobqueue.ID) (x submission, ok bool) {
	if x, ok = r.now[id]; ok {
		delete(r.now, id)
		return x, true
	}
	x, ok = r.before[id]
	delete(r.before, id)
	return x, ok
}
