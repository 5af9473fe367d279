package events

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/events/eventspb"
)

// TestEventTypes: every type of the schema except UNSPECIFIED is known and has a name that is made
// from the constant's name. No other number is known.
func TestEventTypes(t *testing.T) {
	for n, long := range eventspb.EventType_name {
		typ, name := eventspb.EventType(n), strings.ToLower(strings.TrimPrefix(long, "EVENT_TYPE_"))
		if typ == eventspb.EventType_EVENT_TYPE_UNSPECIFIED {
			continue
		}
		if got, err := ParseEventType(name); err != nil || got != typ || EventTypeName(typ) != name || !KnownEventType(typ) {
			t.Errorf("%s: read as %v, %v, written %q, known %v", name, got, err, EventTypeName(typ), KnownEventType(typ))
		}
	}
	for n := int32(-3); n < 100; n++ {
		_, inSchema := eventspb.EventType_name[n]
		if typ := eventspb.EventType(n); KnownEventType(typ) != (inSchema && n != 0) || (EventTypeName(typ) == "unknown") == KnownEventType(typ) {
			t.Errorf("type %d: known %v, name %q", n, KnownEventType(typ), EventTypeName(typ))
		}
	}
	for _, name := range []string{"", "Impression", "EVENT_TYPE_CLICK", "unknown", "unspecified", " click"} {
		if typ, err := ParseEventType(name); err == nil || typ != 0 {
			t.Errorf("%q: %v, %v", name, typ, err)
		}
	}
}
