package bridge

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/stream"
)

// batch is what one transaction hands over or none: output records, the state after them, and what
// depends on the transactions before.
type batch struct {
	stream.SourceBatch

	heartbeats  []heartbeat
	scanRequest scanRequest // the zero value requests nothing
}

// note emits an entry of the journal. partitions is how many partitions the journal has.
func (d *batch) note(n *eventspb.LeaseJournalEntry, partitions int32) {
	if value, err := proto.Marshal(n); err == nil { // otherwise a name is not UTF-8, and no region's
		d.EmitTo(events.LeaseJournalTopic, events.LeaseShard("", "", partitions), stream.Message{Key: poolKey("", ""), Value: value})
	}
}
