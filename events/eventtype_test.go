package events

import (
	"strings"
	"testing"

	"github.com/weirhq/weir/events/eventspb"
)

// Every type of the schema but UNSPECIFIED has a name, made from its own, and is known; nothing else is.
func TestEventTypes(t *testing.T) {
	for n, long := range eventspb.EventType_name {
		typ, name := eventspb.EventType(n), strings.ToLower(strings.TrimPrefix(long, "EVENT_TYPE_"))
		if typ == eventspb.EventType_EVENT_TYPE_UNSPECIFIED {
			continue
		}
		if got, err := ParseEventType(name); err != nil || got != typ || TypeName(typ) != name || !Known(typ) {
			t.Errorf("%s: read as %v, %v, written %q, known %v", name, got, err, TypeName(typ), Known(typ))
		}
	}
	for n := int32(-3); n < 100; n++ {
		_, inSchema := eventspb.EventType_name[n]
		if typ := eventspb.EventType(n); Known(typ) != (inSchema && n != 0) || (TypeName(typ) == "unknown") == Known(typ) {
			t.Errorf("type %d: known %v, name %q", n, Known(typ), TypeName(typ))
		}
	}
	for _, name := range []string{"", "Impression", "EVENT_TYPE_CLICK", "unknown", "unspecified", " click"} {
		if typ, err := ParseEventType(name); err == nil || typ != 0 {
			t.Errorf("%q: %v, %v", name, typ, err)
		}
	}
}
