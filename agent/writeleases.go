package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease/table"
)

// writeLeases are until when leases may be written through each region, as ours has it: a lease of another region is renewed and given
// back there, so its limit holds for us, too. All pools share them.
type writeLeases struct {
	byRegion map[string]table.WriteLease
	read     time.Time
}

// maxEndedAge is how old limits may be by which our region's is over, before a call waits for new ones: it may have been extended
// meanwhile.
const maxEndedAge = time.Second

// writeLeaseOver says whether our region may lease no more.
func (a *Agent) writeLeaseOver(r *writeLeases) bool {
	limit := r.byRegion[a.cfg.Region]
	return limit.Check(time.Now(), a.cfg.Skew, a.cfg.Timeout) != nil
}

// isFresh says whether limits are so young that they need not be read again. nil are not.
func (a *Agent) isFresh(r *writeLeases) bool {
	if r == nil {
		return false
	}
	age := time.Since(r.read)
	return age < a.cfg.SettingsTTL && (age < maxEndedAge || !a.writeLeaseOver(r))
}

// readWriteLeases reads the limits, unless they are fresh: once for all pools that want them now.
func (a *Agent) readWriteLeases(ctx context.Context) error {
	_, err, _ := a.reads.Do("", func() (any, error) {
		if a.isFresh(a.writeLeases.Load()) {
			return nil, nil
		}
		now := time.Now()
		limits, err := a.table.WriteLeases(ctx, a.cfg.Region)
		if err != nil {
			return nil, err
		}
		if _, there := limits[a.cfg.Region]; !there {
			return nil, fmt.Errorf("%w: region %q is not in the table (weir region create)", ErrUnknown, a.cfg.Region)
		}
		a.writeLeases.Store(&writeLeases{limits, now})
		return nil, nil
	})
	return err //nolint:wrapcheck // it is ours
}

// checkWriteLease says why nothing may be written through a region now.
func (a *Agent) checkWriteLease(region string) error {
	limit, there := a.writeLeases.Load().byRegion[region]
	if !there {
		return fmt.Errorf("%w: region %q is not in the table (weir region create)", ErrUnknown, region)
	}
	return limit.Check(time.Now(), a.cfg.Skew, a.cfg.Timeout)
}

// isPermanent says whether an error is no reason to go on with what was known before.
func isPermanent(err error) bool {
	return !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrThrottled)
}
