package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease/table"
)

// regions are until when leases may be written through each region, as ours has it: a lease of another region is renewed and given
// back there, so its limit holds for us, too. All pools share them.
type regions struct {
	limits map[string]table.Limit
	read   time.Time
}

// endedAge is how old limits may be by which our region's is over, before a call waits for new ones: it may have been extended
// meanwhile.
const endedAge = time.Second

// ended says whether our region may lease no more.
func (a *Agent) ended(r *regions) bool {
	limit := r.limits[a.cfg.Region]
	return limit.Check(time.Now(), a.cfg.Skew, a.cfg.Timeout) != nil
}

// fresh says whether limits are so young that they need not be read again. nil are not.
func (a *Agent) fresh(r *regions) bool {
	if r == nil {
		return false
	}
	age := time.Since(r.read)
	return age < a.cfg.SettingsTTL && (age < endedAge || !a.ended(r))
}

// readRegions reads the limits, unless they are fresh: once for all pools that want them now.
func (a *Agent) readRegions(ctx context.Context) error {
	_, err, _ := a.reads.Do("", func() (any, error) {
		if a.fresh(a.regions.Load()) {
			return nil, nil
		}
		now := time.Now()
		limits, err := a.table.Limits(ctx, a.cfg.Region)
		if err != nil {
			return nil, err
		}
		if _, there := limits[a.cfg.Region]; !there {
			return nil, fmt.Errorf("%w: region %q is not in the table (weir region create)", ErrUnknown, a.cfg.Region)
		}
		a.regions.Store(&regions{limits, now})
		return nil, nil
	})
	return err //nolint:wrapcheck // it is ours
}

// mayWrite says why nothing may be written through a region now.
func (a *Agent) mayWrite(region string) error {
	limit, there := a.regions.Load().limits[region]
	if !there {
		return fmt.Errorf("%w: region %q is not in the table (weir region create)", ErrUnknown, region)
	}
	return limit.Check(time.Now(), a.cfg.Skew, a.cfg.Timeout)
}

// lasting says whether an error is no reason to go on with what was known before.
func lasting(err error) bool { return !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrThrottled) }
