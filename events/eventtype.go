package events

import (
	"fmt"

	"github.com/weirhq/weir/events/eventspb"
)

// ParseEventType reads the name of an event type as JSON lines, the command line and metric labels
// have it: impression, click, video_view, follow, conversion or heartbeat.
func ParseEventType(name string) (eventspb.EventType, error) {
	switch name {
	case "impression":
		return eventspb.EventType_EVENT_TYPE_IMPRESSION, nil
	case "click":
		return eventspb.EventType_EVENT_TYPE_CLICK, nil
	case "video_view":
		return eventspb.EventType_EVENT_TYPE_VIDEO_VIEW, nil
	case "follow":
		return eventspb.EventType_EVENT_TYPE_FOLLOW, nil
	case "conversion":
		return eventspb.EventType_EVENT_TYPE_CONVERSION, nil
	case "heartbeat":
		return eventspb.EventType_EVENT_TYPE_HEARTBEAT, nil
	}
	return 0, fmt.Errorf("event type %.40q: unknown: use impression, click, video_view, follow, conversion or heartbeat", name)
}

// EventTypeName returns the name that ParseEventType reads, or "unknown" for any other type.
func EventTypeName(t eventspb.EventType) string {
	switch t {
	case eventspb.EventType_EVENT_TYPE_IMPRESSION:
		return "impression"
	case eventspb.EventType_EVENT_TYPE_CLICK:
		return "click"
	case eventspb.EventType_EVENT_TYPE_VIDEO_VIEW:
		return "video_view"
	case eventspb.EventType_EVENT_TYPE_FOLLOW:
		return "follow"
	case eventspb.EventType_EVENT_TYPE_CONVERSION:
		return "conversion"
	case eventspb.EventType_EVENT_TYPE_HEARTBEAT:
		return "heartbeat"
	case eventspb.EventType_EVENT_TYPE_UNSPECIFIED:
	}
	return "unknown"
}

// KnownEventType reports whether this release can fold events of type t. EVENT_TYPE_UNSPECIFIED is
// not known.
func KnownEventType(t eventspb.EventType) bool {
	return t >= eventspb.EventType_EVENT_TYPE_IMPRESSION && t <= eventspb.EventType_EVENT_TYPE_CONVERSION ||
		t == eventspb.EventType_EVENT_TYPE_HEARTBEAT
}
