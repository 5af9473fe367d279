package dedup

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/lease/changes"
	"github.com/weirhq/weir/stream"
)

// rules returns the checks of the rows that dedup uses.
func (cfg *Config) rules() changes.Rules {
	return changes.Rules{
		Key: []changes.Rule[*eventspb.LeaseKey]{cfg.regionDeclared, keyVersion, knownState, keyTimes},
		Settings: []changes.Rule[*eventspb.LeasePool]{changes.UnlessDeleted(
			changes.SettingsVersion, changes.QuarantineWithin(changes.MaxQuarantineMs), changes.BucketsInRange, knownMode,
		)},
	}
}

func (cfg *Config) regionDeclared(_ *changes.Change, k *eventspb.LeaseKey) error {
	if _, ok := cfg.Output(k.Region); !ok {
		return stream.Rejectf(changes.ReasonUnknownRegion, "key %q has a row of region %q, which is not declared", k.Key, k.Region)
	}
	return nil
}

func keyVersion(_ *changes.Change, k *eventspb.LeaseKey) error {
	return changes.CheckVersion(k.Version, "key", k.Key)
}

// knownState requires a known state, and a resource and an end where the key has a lease or asks
// for one.
func knownState(_ *changes.Change, k *eventspb.LeaseKey) error {
	switch s := lease.State(k.State); s {
	case lease.Released, lease.Superseded:
		return nil
	case lease.Pending, lease.Leased:
		if err := changes.CheckName("resource", k.Resource); err != nil {
			return err
		}
		if k.ExpiresMs == 0 {
			return stream.Rejectf(changes.ReasonNoExpires, "key %q in %s is %s without an end", k.Key, k.Region, s)
		}
		return nil
	default:
		return stream.Rejectf(changes.ReasonUnknownState, "key %q in %s is in the unknown state %q", k.Key, k.Region, k.State)
	}
}

func keyTimes(_ *changes.Change, k *eventspb.LeaseKey) error {
	if k.ExpiresMs < 0 || k.ExpiresMs > changes.MaxMs || k.GrantedMs < 0 || k.GrantedMs > changes.MaxMs {
		return stream.Rejectf(changes.ReasonBadTime, "the lease of key %q in %s was granted at %d and ends at %d: 0 to %d are allowed",
			k.Key, k.Region, k.GrantedMs, k.ExpiresMs, int64(changes.MaxMs))
	}
	return nil
}

func knownMode(_ *changes.Change, p *eventspb.LeasePool) error {
	switch p.Duplicates {
	case "", modeObserve, modeSupersede, modeRelease:
		return nil
	}
	return stream.Rejectf(changes.ReasonBadSettings, "duplicates %q: use observe, supersede or release", p.Duplicates)
}
