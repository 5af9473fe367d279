package spendcounter

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

func TestAccountOf(t *testing.T) {
	event := events.AppendEvent(nil, &eventspb.AdEvent{EventId: "e", Account: "acme"})
	adjustment, err := proto.Marshal(&eventspb.Adjustment{ReferenceId: "r", Account: "acme"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		topic   string
		value   []byte
		problem string // "" if the account is acme
	}{
		{"ads.events", event, ""},
		{"ads.events.g2", event, ""},
		{"ads.adjustments", adjustment, ""},
		{"ads.events", []byte("\xff\xff"), "no account can be read"},
		{"ads.adjustments.g3", []byte("\xff\xff"), "no account can be read"},
		{"ads.events", nil, "has no account"},
		{"ads.events.from.eu", event, "datacentre of its origin"},
	} {
		account, err := AccountOf(c.topic, c.value)
		if c.problem == "" && (err != nil || account != "acme") {
			t.Errorf("%s: %q, %v", c.topic, account, err)
		}
		if c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s %q: %q, %v; want %s", c.topic, c.value, account, err, c.problem)
		}
	}
}
