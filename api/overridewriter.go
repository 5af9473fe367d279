package api

import (
	"context"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing/override"
)

// newWriterOverride returns an override for an answer, nil for none.
func newWriterOverride(o *eventspb.WriterOverride) *weirpb.WriterOverride {
	if o == nil {
		return nil
	}
	return &weirpb.WriterOverride{Writer: o.GetWriter(), Who: o.GetWho(), Why: o.GetWhy(), AtMs: o.GetAtMs(), UntilMs: o.GetUntilMs()}
}

// OverrideWriter lets ad servers have the parameters that a datacentre writes, or withdraws the
// override.
func (s *pacingService) OverrideWriter(ctx context.Context,
	req *connect.Request[weirpb.OverrideWriterRequest],
) (*connect.Response[weirpb.OverrideWriterResponse], error) {
	inForce, err := s.inForce()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, overrideWait)
	defer cancel()
	m, now := req.Msg, time.Now()
	o := &eventspb.WriterOverride{Writer: m.GetWriter(), AtMs: now.UnixMilli(), UntilMs: now.UnixMilli() + m.GetDurationMs()}
	switch known := s.overrides.Writers(); {
	case m.GetWriter() == "" && m.GetDurationMs() != 0:
		err = invalid("the request has a duration and no writer: set the writer, or leave out both to withdraw the override")
	case m.GetWriter() == "" && inForce.writer == nil:
		err = errorf(connect.CodeFailedPrecondition, "no override of the writer is in force: there is nothing to withdraw")
	case m.GetWriter() == "":
		o = override.Writers().Withdraw(inForce.writer, now)
	case m.GetDurationMs() == 0:
		err = invalid("the request has no duration: set it, a second to 24 hours")
	case !slices.Contains(known, m.GetWriter()):
		err = errorf(connect.CodeFailedPrecondition,
			"nothing was written: the spend caches do not serve the parameters of %q: use one of %s", m.GetWriter(),
			strings.Join(known, ", "))
	}
	if err != nil {
		return nil, err
	}
	o.Who, o.Why = m.GetWho(), m.GetWhy()
	if err := override.Writers().Check(o); err != nil {
		return nil, invalid("%w", err)
	}
	if err := s.overrides.SetWriter(ctx, o); err != nil {
		return nil, errorf(connect.CodeUnavailable, "%w: list the overrides, and repeat the request if it is not there", err)
	}
	return connect.NewResponse(&weirpb.OverrideWriterResponse{Override: newWriterOverride(o)}), nil
}
