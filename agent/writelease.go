package agent

import (
	"context"
	"errors"
	"time"

	"github.com/weirhq/weir/lease/table"
)

// writeLeases are the write leases of all regions, as the agent's region has them. A lease of
// another region is renewed and released in that region, so its write lease matters as well.
type writeLeases struct {
	byRegion map[string]table.WriteLease
	read     time.Time
}

// maxEndedAge is the age at which a call waits for new write leases, if the region's own has ended:
// it may have been renewed.
const maxEndedAge = time.Second

// writeLeaseOver reports whether the write lease of the agent's region has ended.
func (a *Agent) writeLeaseOver(r *writeLeases) bool {
	current := r.byRegion[a.cfg.Region]
	return current.Check(time.Now(), a.cfg.Skew, a.cfg.Timeout) != nil
}

// isFresh reports whether r needs no new read. r may be nil.
func (a *Agent) isFresh(r *writeLeases) bool {
	if r == nil {
		return false
	}
	age := time.Since(r.read)
	return age < a.cfg.SettingsTTL && (age < maxEndedAge || !a.writeLeaseOver(r))
}

// readWriteLeases reads the write leases, unless they are fresh. Concurrent callers share one read.
func (a *Agent) readWriteLeases(ctx context.Context) error {
	_, err, _ := a.reads.Do("", func() (any, error) {
		if a.isFresh(a.writeLeases.Load()) {
			return nil, nil
		}
		now := time.Now()
		leases, err := a.table.WriteLeases(ctx, a.cfg.Region)
		if err != nil {
			return nil, err
		}
		if _, there := leases[a.cfg.Region]; !there {
			return nil, &UnknownError{Kind: "region", Name: a.cfg.Region}
		}
		a.writeLeases.Store(&writeLeases{leases, now})
		return nil, nil
	})
	return err //nolint:wrapcheck // an error of this package
}

// checkWriteLease returns an error if the write lease of a region does not permit a write now.
func (a *Agent) checkWriteLease(region string) error {
	current, there := a.writeLeases.Load().byRegion[region]
	if !there {
		return &UnknownError{Kind: "region", Name: region}
	}
	return current.Check(time.Now(), a.cfg.Skew, a.cfg.Timeout)
}

// isPermanent reports whether an error means that old settings must not be used any longer.
func isPermanent(err error) bool {
	return !errors.Is(err, ErrUnavailable) && !errors.Is(err, ErrThrottled)
}
