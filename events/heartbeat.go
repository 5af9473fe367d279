package events

import (
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
)

// Heartbeat returns a record for a partition of ads.events without an event: it shows that the
// partition has all events that datacentre dc took up to nowMs, Unix ms. It has no key.
func Heartbeat(dc string, nowMs int64) ([]byte, error) {
	return proto.Marshal(&eventspb.AdEvent{
		Type: eventspb.EventType_EVENT_TYPE_HEARTBEAT, EventMs: nowMs, IngestMs: nowMs, ServingDc: dc,
	})
}
