package roles

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// View answers the API's questions from the committed state of a running spend counter.
type View struct {
	Runtime *processors.Runtime
	Kafka   processors.Kafka
	Inputs  []string
	DC      string
	Version string
}

// Spend implements api.SpendSource.
func (v *View) Spend(ctx context.Context, campaign, account string, fn func(*eventspb.Spend, *weirpb.AsOf) error) ([]*weirpb.AsOf, error) {
	shards, err := v.readable(account)
	if err != nil {
		return nil, err
	}
	snap, err := v.Runtime.Snapshot()
	if err != nil {
		return nil, err
	}
	defer func() { _ = snap.Close() }()
	prefix := spendcounter.CampaignPrefix(campaign)
	if account != "" {
		prefix = append(append(prefix, account...), 0)
	}
	var all []*weirpb.AsOf
	for _, p := range shards {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		meta, err := snap.Meta(p)
		if err != nil {
			return nil, err
		}
		asOf := &weirpb.AsOf{Partition: p, AppliedMs: meta.GetAppliedAtMs(), NextOffsets: map[string]int64{}}
		for _, in := range meta.GetMarker().GetInputs() {
			asOf.NextOffsets[in.Topic] = in.Next
		}
		all = append(all, asOf)
		err = snap.Scan(p, spendcounter.TableSpend, prefix, func(_, value []byte) error {
			var s eventspb.Spend
			if err := proto.Unmarshal(bytes.Clone(value), &s); err != nil {
				return fmt.Errorf("spend record of campaign %s in partition %d: %w", campaign, p, err)
			}
			return fn(&s, asOf)
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// readable lists the partitions that can hold the account's records (all, if account is empty), or says which of them
// this process cannot read.
func (v *View) readable(account string) ([]int32, error) {
	n := v.Runtime.Partitions()
	if n == 0 {
		return nil, processors.ErrNotRunning
	}
	var want []int32
	if account != "" {
		want = []int32{events.Shard(account)}
	} else {
		for p := range n {
			want = append(want, p)
		}
	}
	status := map[int32]processors.Status{}
	for _, s := range v.Runtime.Status() {
		status[s.Partition] = s
	}
	gaps := &api.PartitionsError{}
	for _, p := range want {
		s, mine := status[p]
		switch {
		case !mine || s.State == "standby":
			gaps.Gaps = append(gaps.Gaps, api.PartitionGap{Partition: p, State: "elsewhere"})
		case s.OwnerEpoch == 0 || s.State == "restoring":
			gaps.Gaps = append(gaps.Gaps, api.PartitionGap{Partition: p, State: "restoring", Reason: s.Reason})
		}
	}
	if len(gaps.Gaps) > 0 {
		return nil, gaps
	}
	return want, nil
}

// WaitProduced implements api.SpendSource.
func (v *View) WaitProduced(ctx context.Context, account string) error {
	shards, err := v.settled(ctx, account)
	if err != nil {
		return err
	}
	ends, err := processors.EndOffsets(ctx, v.Kafka, v.Inputs...)
	if err != nil {
		return err
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		behind, err := v.behind(shards, ends)
		if err != nil || !behind {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// settled waits for partitions that are on their way, between two workers or from another process, and gives up after a
// while on those that are not.
func (v *View) settled(ctx context.Context, account string) ([]int32, error) {
	const patience = 10 * time.Second
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; {
		shards, err := v.readable(account)
		var gaps *api.PartitionsError
		if err == nil || !errors.As(err, &gaps) && !errors.Is(err, processors.ErrNotRunning) || time.Now().After(end) {
			return shards, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// behind says whether a partition has not yet applied what ends says; a stopped one never will.
func (v *View) behind(shards []int32, ends map[string]map[int32]int64) (bool, error) {
	snap, err := v.Runtime.Snapshot()
	if err != nil {
		return false, err
	}
	defer func() { _ = snap.Close() }()
	for _, p := range shards {
		meta, err := snap.Meta(p)
		if err != nil {
			return false, err
		}
		next := map[string]int64{}
		for _, in := range meta.GetMarker().GetInputs() {
			next[in.Topic] = in.Next
		}
		for topic, end := range ends {
			if next[topic] < end[p] {
				return true, v.stopped(p)
			}
		}
	}
	return false, nil
}

func (v *View) stopped(p int32) error {
	for _, s := range v.Runtime.Status() {
		if s.Partition == p && s.State == "stopped" {
			return &api.PartitionsError{Gaps: []api.PartitionGap{{Partition: p, State: s.State, Reason: s.Reason}}}
		}
	}
	return nil
}

// Health implements api.SpendSource.
func (v *View) Health(ctx context.Context, fn func(*eventspb.SpendHistogram) error) error {
	snap, err := v.Runtime.Snapshot()
	if err != nil {
		return err
	}
	defer func() { _ = snap.Close() }()
	for _, s := range v.Runtime.Status() {
		if s.State == "standby" {
			continue
		}
		value, err := snap.Get(s.Partition, spendcounter.TableHealth, spendcounter.HealthKey(v.DC, s.Partition))
		if err != nil {
			return err
		}
		if value == nil || ctx.Err() != nil {
			continue
		}
		var h eventspb.SpendHistogram
		if err := proto.Unmarshal(value, &h); err != nil {
			return fmt.Errorf("health record of shard %d: %w", s.Partition, err)
		}
		if err := fn(&h); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// Cluster implements api.ClusterSource.
func (v *View) Cluster(context.Context) (*weirpb.GetClusterResponse, error) {
	return &weirpb.GetClusterResponse{
		Brokers: v.Kafka.Brokers, Dc: v.DC, EventsTopic: events.EventsTopic, Partitions: events.Shards, Version: v.Version,
	}, nil
}

// Partitions implements api.ClusterSource.
func (v *View) Partitions(context.Context) ([]*weirpb.Partition, error) {
	var out []*weirpb.Partition
	for _, s := range v.Runtime.Status() {
		out = append(out, &weirpb.Partition{
			App: s.App, Partition: s.Partition, State: s.State, Reason: s.Reason, OwnerEpoch: s.OwnerEpoch, Sequence: s.Sequence,
			NextOffsets: maps.Clone(s.Next), Lag: &s.Lag, ChangelogNext: s.ChangelogNext,
		})
	}
	return out, nil
}

// Ready tells whether every partition that this process owns can be answered for.
func (v *View) Ready(context.Context) (ok bool, reasons []string) {
	status := v.Runtime.Status()
	if len(status) == 0 {
		return false, []string{"no partition assigned yet"}
	}
	for _, s := range status {
		if s.State != "running" && s.State != "standby" {
			reasons = append(reasons, fmt.Sprintf("%s partition %d is %s %s", s.App, s.Partition, s.State, s.Reason))
		}
	}
	return len(reasons) == 0, reasons
}

var (
	_ api.SpendSource   = (*View)(nil)
	_ api.ClusterSource = (*View)(nil)
)
