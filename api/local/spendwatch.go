package local

import (
	"errors"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/spendcounter"
)

// WatchSpend implements api.StateSource.
func (s *StateReader) WatchSpend(q api.SpendWatch) (changed <-chan struct{}, stop func(), err error) {
	changed, stop, err = s.runtime.Watch(q.Partition, spendcounter.TableSpend, spendcounter.CampaignPrefix(q.Account, q.Campaign))
	switch {
	case err == nil:
		return changed, stop, nil
	case errors.Is(err, processors.ErrStopped):
		return nil, nil, gap(q.Partition, processors.StateStopped, err.Error())
	case errors.Is(err, processors.ErrRestoring):
		return nil, nil, gap(q.Partition, processors.StateRestoring, err.Error())
	case errors.Is(err, processors.ErrNotOwned), errors.Is(err, processors.ErrNotRunning):
		return nil, nil, gap(q.Partition, api.StateRemote, "")
	}
	return nil, nil, err
}
