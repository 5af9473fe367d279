package override

import (
	"fmt"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
)

// Writers is the kind by which the ad servers of the datacentre have the parameters that a
// datacentre writes. There is one such override at a time.
func Writers() Kind[*eventspb.WriterOverride] {
	type override = eventspb.WriterOverride
	return Kind[*override]{
		name: "WriterOverride", prefix: "writer", new: func() *override { return &override{} }, check: checkWriter,
		id: func(*override) string { return "" },
		ended: func(o *override, atMs int64) *override {
			return &override{Writer: o.GetWriter(), AtMs: atMs, UntilMs: atMs}
		},
	}
}

func checkWriter(o *eventspb.WriterOverride) error {
	if err := events.ValidateDC(o.GetWriter()); err != nil {
		return fmt.Errorf("writer: %w", err)
	}
	return nil
}
