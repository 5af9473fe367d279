package bridge

import (
	"context"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// batch is what is handed over in one transaction or not at all: outputs, and the state that says so.
type batch struct {
	outputs     []output
	entries     []entry
	heartbeats  []heartbeat
	scanRequest scanRequest // for a scan; the zero value asks for none
	bytes       int
}

// output is a record of a topic.
type output struct {
	topic      string
	partition  int32
	key, value []byte
}

// allPartitions is the partition of a record that goes to all of them.
const allPartitions = -1

// entry is a key of the state; a nil value deletes it.
type entry struct {
	table byte
	key   string
	value []byte
}

func (d *batch) emit(o output) {
	d.outputs = append(d.outputs, o)
	d.bytes += len(o.key) + len(o.value) + 64
}

func (d *batch) put(e entry) {
	d.entries = append(d.entries, e)
	d.bytes += len(e.key) + len(e.value) + 64
}

// note puts a note into the journal. partitions is how many that has.
func (d *batch) note(n *eventspb.LeaseJournalEntry, partitions int32) {
	if value, err := proto.Marshal(n); err == nil { // else a name is not UTF-8, and no region's
		d.emit(output{events.LeaseJournalTopic, events.LeaseShard("", "", partitions), poolKey("", ""), value})
	}
}

// queue is the way from the goroutines that read to Flush. What one goroutine pushed after another's push had returned is
// taken after it.
type queue struct {
	maxBytes int

	mu    sync.Mutex
	list  []*batch
	bytes int
	room  chan struct{} // closed when everything was taken
}

func newQueue(most int) *queue { return &queue{maxBytes: most, room: make(chan struct{})} }

// push waits until the queue has room, and takes any delivery then, however large. The error is ctx's.
func (q *queue) push(ctx context.Context, d *batch) error {
	for {
		q.mu.Lock()
		if q.bytes < q.maxBytes {
			q.list = append(q.list, d)
			q.bytes += d.bytes + 1
			q.mu.Unlock()
			return nil
		}
		room := q.room
		q.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (q *queue) take() []*batch {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	if len(list) > 0 {
		q.list, q.bytes = nil, 0
		close(q.room)
		q.room = make(chan struct{})
	}
	return list
}

func (q *queue) size() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}
