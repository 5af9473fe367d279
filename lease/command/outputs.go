package command

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease"
)

// Outputs are the output topics of a core of the lease loop: those that it always has, then the commands of each
// region. output finds a region's.
func Outputs(regions []string, first ...string) (topics []string, output func(region string) (int, bool), err error) {
	if len(regions) == 0 {
		return nil, nil, fmt.Errorf("no regions: name all that have a copy of the table of leases")
	}
	regions = slices.Compact(slices.Sorted(slices.Values(regions)))
	topics = slices.Clone(first)
	for _, r := range regions {
		if err := lease.CheckName("region", r, lease.MaxName); err != nil {
			return nil, nil, err
		}
		topics = append(topics, events.LeaseCommandsTopic(r))
	}
	return topics, func(region string) (int, bool) {
		i, ok := slices.BinarySearch(regions, region)
		return len(first) + i, ok
	}, nil
}
