package spendcache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/pacing"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
	"github.com/weirhq/weir/pacing/pack"
	"github.com/weirhq/weir/processors/follower"
)

// ErrNoPacing means that the cache does not follow how campaigns are paced: Config.Pacing.
var ErrNoPacing = errors.New("the spend cache does not follow how campaigns are paced")

// Packs returns how an account is paced: the packs that the controller of this datacentre has
// written last, or that of another one in its place, in the order of their numbers. An account that
// is not paced has none. Packs returns ErrNoPacing, ErrNoRows if the topic has not been read to its
// end yet, or the error of ctx.
func (c *Cache) Packs(ctx context.Context, account string) ([]*eventspb.AccountPack, error) {
	if !c.cfg.Pacing {
		return nil, ErrNoPacing
	}
	shard := c.Shard(account)
	prefix := budget.AccountPrefix([]byte{pacing.TablePacks}, account)
	own, err := scanPacks(ctx, c.follower.Scan, packRange{c.cfg.packs(), shard, prefix})
	by := c.others.serving[shard].by.Load()
	if by == nil || err != nil { // without the own packs, the overrides are not known
		return own, err
	}
	list, err := scanPacks(ctx, by.follower.Scan, packRange{by.topic, shard, prefix})
	if err != nil || len(list) == 0 || knownMs(list) < knownMs(own)-pack.PeerAge.Milliseconds() {
		return own, ctx.Err()
	}
	replaceOverrides(list, own, time.Now().UnixMilli())
	return list, nil
}

// packRange is the packs of a topic whose keys have a prefix.
type packRange struct {
	topic  string
	shard  int32
	prefix []byte
}

// scanPacks reads packs by the Scan of a follower, or of a snapshot.
func scanPacks(ctx context.Context, scan func(topic string, shard int32, prefix []byte, fn func(follower.Row) error) error,
	r packRange,
) (list []*eventspb.AccountPack, err error) {
	err = scan(r.topic, r.shard, r.prefix, func(row follower.Row) error {
		m := &eventspb.AccountPack{}
		if err := proto.Unmarshal(row.Value, m); err != nil {
			return fmt.Errorf("pack %q of %s: %w: is the topic written by pacing?", row.Key, r.topic, err)
		}
		list = append(list, m)
		return ctx.Err()
	})
	if err != nil {
		return nil, gapError(err)
	}
	return list, nil
}

// knownMs returns of when the spend is that the newest packs of an account rest on, Unix ms; 0: it
// was never read, or there are no packs.
func knownMs(list []*eventspb.AccountPack) (ms int64) {
	for _, m := range list {
		if !m.GetUnread() {
			ms = max(ms, m.GetAtMs()-m.GetSpendAgeMs())
		}
	}
	return ms
}

// staleSample is the number of packs that ownPacing.stale looks at.
const staleSample = 100

// errEnough ends a scan.
var errEnough = errors.New("enough packs were read")

// ownPacing is how this datacentre paces the accounts, at a time.
type ownPacing struct {
	*Cache
	now time.Time
}

func (c ownPacing) led(shard int) leadership { return leadership(c.leaders[shard].state.Load()) }

// stale implements ownShards. All accounts of a shard have the spend of one dataset, so one pack
// that was written lately is enough.
func (c ownPacing) stale(shard int) (stale bool) {
	n := 0
	err := c.follower.Scan(c.cfg.packs(), int32(shard), []byte{pacing.TablePacks}, func(row follower.Row) error {
		m := &eventspb.AccountPack{}
		if err := proto.Unmarshal(row.Value, m); err != nil {
			return err
		}
		if lately := c.now.Sub(time.UnixMilli(m.GetAtMs())) < pack.PeerAge; lately {
			stale = m.GetUnread() || m.GetSpendAgeMs() >= control.HoldAfter.Milliseconds()
			return errEnough
		}
		if n++; n == staleSample {
			return errEnough
		}
		return nil
	})
	return stale || err != nil && !errors.Is(err, errEnough)
}

// replaceOverrides gives the campaigns of another datacentre the overrides of this one that are in
// force, in place of those that they have: overrides are of one datacentre.
func replaceOverrides(list, own []*eventspb.AccountPack, nowMs int64) {
	overrides := map[string]*eventspb.CampaignOverride{} // of this datacentre, by campaign
	for _, m := range own {
		for _, c := range m.GetCampaigns() {
			if o := c.GetOverride(); o.GetUntilMs() > nowMs {
				overrides[c.GetId()] = o
			}
		}
	}
	shared := map[string]control.Params{}
	for _, m := range list {
		for _, s := range m.GetShared() {
			shared[s.GetId()] = params(s)
		}
	}
	for _, m := range list {
		for _, c := range m.GetCampaigns() {
			if o := overrides[c.GetId()]; o != nil || c.GetOverride() != nil {
				above := control.Unlimited()
				if c.GetShared() != "" {
					above = shared[c.GetShared()] // closed if the packs do not have it
				}
				setOverride(c, o, above)
			}
		}
	}
}

// setOverride gives a campaign, and its arms, an override, nil for none. above are the parameters
// of the shared budget above it.
func setOverride(c *eventspb.PacedNode, o *eventspb.CampaignOverride, above control.Params) {
	set := func(n *eventspb.PacedNode, above control.Params) control.Params {
		p := control.Unlimited()
		if s := n.GetState(); s != nil {
			p = control.Params{Open: s.GetOpen(), Probability: s.GetProbability(), Multiplier: s.GetMultiplier()}
		}
		switch {
		case o != nil && p.Open:
			p = p.Override(o.GetProbability())
			n.Reason = string(control.OverrideReason(o.GetProbability()))
		case o == nil && (n.GetReason() == string(control.Override) || n.GetReason() == string(control.PausedNow)):
			n.Reason = string(control.Behind) // of the controller, which waits there
		}
		p = control.Least(p, above)
		n.Open, n.Probability, n.Multiplier, n.Override = p.Open, p.Probability, p.Multiplier, o
		return p
	}
	p := set(c, above)
	for _, arm := range c.GetArms() {
		set(arm, p)
	}
}

func params(n *eventspb.PacedNode) control.Params {
	return control.Params{Open: n.GetOpen(), Probability: n.GetProbability(), Multiplier: n.GetMultiplier()}
}
