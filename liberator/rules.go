package liberator

import (
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/lease/changes"
)

// rules returns the checks of the rows that the liberator uses.
func (cfg *Config) rules() changes.Rules {
	declared := func(region string) bool { _, ok := cfg.Output(region); return ok }
	return changes.Rules{
		Resource: []changes.Rule[*eventspb.LeaseResource]{
			changes.OwnerDeclared(declared), changes.ResourceVersion, changes.HeldOrAvailable, changes.HeldUntil,
			changes.ExpiresWithin(changes.MaxMs),
		},
		Settings: []changes.Rule[*eventspb.LeasePool]{changes.UnlessDeleted(
			changes.SettingsVersion, changes.QuarantineWithin(changes.MaxQuarantineMs), changes.BucketsInRange,
		)},
	}
}
