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

// OverrideSource has the overrides of operators in pacing. Its methods are called concurrently.
type OverrideSource interface {
	// Leaders returns the overrides in force, in the order of the shards. An error means that this
	// process has not read them yet.
	Leaders() ([]*eventspb.LeaderOverride, error)
	// Campaigns returns the overrides of campaigns in force, in the order of account and campaign,
	// with the same error.
	Campaigns() ([]*eventspb.CampaignOverride, error)
	// Processes returns the names of the processes that can lead a shard, in order.
	Processes(ctx context.Context) ([]string, error)
	// SetLeader writes an override, and returns when this process has read it.
	SetLeader(ctx context.Context, o *eventspb.LeaderOverride) error
	// SetCampaign does the same with an override of a campaign.
	SetCampaign(ctx context.Context, o *eventspb.CampaignOverride) error
	// Writer returns the override of the writer in force, nil for none, with the error of Leaders.
	Writer() (*eventspb.WriterOverride, error)
	// Writers returns the datacentres whose parameters the spend caches here can serve.
	Writers() []string
	// SetWriter does the same as SetLeader with an override of the writer.
	SetWriter(ctx context.Context, o *eventspb.WriterOverride) error
}

// overrideWait bounds the write of an override.
const overrideWait = 10 * time.Second

func newLeaderOverride(o *eventspb.LeaderOverride) *weirpb.LeaderOverride {
	return &weirpb.LeaderOverride{
		Shard: o.GetShard(), Leader: o.GetLeader(), Who: o.GetWho(), Why: o.GetWhy(), AtMs: o.GetAtMs(), UntilMs: o.GetUntilMs(),
	}
}

// overridesInForce are the overrides in force of all kinds.
type overridesInForce struct {
	leaders   []*eventspb.LeaderOverride
	campaigns []*eventspb.CampaignOverride
	writer    *eventspb.WriterOverride // nil: none
}

// inForce returns the overrides in force.
func (s *pacingService) inForce() (o overridesInForce, err error) {
	if err := s.available(); err != nil {
		return o, err
	}
	if s.overrides == nil {
		return o, errorf(connect.CodeUnimplemented,
			"this process%s has no overrides: send the request to a process with the role pacing", s.apps.running())
	}
	o.leaders, err = s.overrides.Leaders()
	if err == nil {
		o.campaigns, err = s.overrides.Campaigns()
	}
	if err == nil {
		o.writer, err = s.overrides.Writer()
	}
	if err != nil {
		return o, errorf(connect.CodeUnavailable, "%w: repeat the request; without the topic, `weir topics apply` creates it", err)
	}
	return o, nil
}

// addOverrides adds the overrides in force to partitions.
func (s *pacingService) addOverrides(list []*weirpb.PacingShard) {
	if s.overrides == nil {
		return
	}
	leaders, _ := s.overrides.Leaders() // until they are read, the partitions have none
	for _, o := range leaders {
		for _, one := range list {
			if one.GetPartition() == o.GetShard() {
				one.Override = newLeaderOverride(o)
			}
		}
	}
}

// OverrideLeader lets a process lead a shard, or withdraws the override of a shard.
func (s *pacingService) OverrideLeader(ctx context.Context,
	req *connect.Request[weirpb.OverrideLeaderRequest],
) (*connect.Response[weirpb.OverrideLeaderResponse], error) {
	inForce, err := s.inForce()
	if err != nil {
		return nil, err
	}
	m := req.Msg
	if p := m.GetShard(); p < 0 || p >= s.packs.Shards {
		return nil, invalid("shard %d does not exist: use 0 to %d", p, s.packs.Shards-1)
	}
	ctx, cancel := context.WithTimeout(ctx, overrideWait)
	defer cancel()
	var o *eventspb.LeaderOverride
	if m.GetLeader() == "" {
		o, err = withdrawn(inForce.leaders, m)
	} else {
		o, err = s.given(ctx, m)
	}
	if err != nil {
		return nil, err
	}
	o.Who, o.Why = m.GetWho(), m.GetWhy()
	if err := override.Leaders().Check(o); err != nil {
		return nil, invalid("%w", err)
	}
	if err := s.overrides.SetLeader(ctx, o); err != nil {
		return nil, errorf(connect.CodeUnavailable, "%w: list the overrides, and repeat the request if it is not there", err)
	}
	return connect.NewResponse(&weirpb.OverrideLeaderResponse{Override: newLeaderOverride(o)}), nil
}

// withdrawn returns the override that withdraws the one in force.
func withdrawn(leaders []*eventspb.LeaderOverride, m *weirpb.OverrideLeaderRequest) (*eventspb.LeaderOverride, error) {
	if m.GetDurationMs() != 0 {
		return nil, invalid("the request has a duration and no leader: set the leader, or leave out both to withdraw the override")
	}
	for _, o := range leaders {
		if o.GetShard() == m.GetShard() {
			return override.Leaders().Withdraw(o, time.Now()), nil
		}
	}
	return nil, errorf(connect.CodeFailedPrecondition, "no override is in force for shard %d: there is nothing to withdraw", m.GetShard())
}

// given returns the override of a request with a leader.
func (s *pacingService) given(ctx context.Context, m *weirpb.OverrideLeaderRequest) (*eventspb.LeaderOverride, error) {
	lasts := m.GetDurationMs()
	if lasts < override.MinFor.Milliseconds() || lasts > override.MaxFor.Milliseconds() {
		return nil, invalid("duration_ms %d is out of range: use %d to %d", lasts, override.MinFor.Milliseconds(),
			override.MaxFor.Milliseconds())
	}
	names, err := s.overrides.Processes(ctx)
	if err != nil {
		return nil, errorf(connect.CodeUnavailable,
			"nothing was written: the processes of the group cannot be read now: repeat the request: %w", err)
	}
	if !slices.Contains(names, m.GetLeader()) {
		return nil, errorf(connect.CodeFailedPrecondition, "nothing was written: no process %q paces accounts now: use one of %s",
			m.GetLeader(), strings.Join(names, ", "))
	}
	now := time.Now().UnixMilli()
	return &eventspb.LeaderOverride{Shard: m.GetShard(), Leader: m.GetLeader(), AtMs: now, UntilMs: now + lasts}, nil
}

// ListOverrides returns the overrides in force.
func (s *pacingService) ListOverrides(_ context.Context,
	_ *connect.Request[weirpb.ListOverridesRequest],
) (*connect.Response[weirpb.ListOverridesResponse], error) {
	inForce, err := s.inForce()
	if err != nil {
		return nil, err
	}
	out := &weirpb.ListOverridesResponse{Writer: newWriterOverride(inForce.writer)}
	for _, o := range inForce.leaders {
		out.Leaders = append(out.Leaders, newLeaderOverride(o))
	}
	for _, o := range inForce.campaigns {
		out.Campaigns = append(out.Campaigns, newCampaignOverride(o))
	}
	return connect.NewResponse(out), nil
}
