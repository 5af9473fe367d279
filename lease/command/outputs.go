package command

import (
	"fmt"
	"slices"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease"
	"github.com/weirhq/weir/stream"
)

// Outputs returns the outputs of a core of the lease loop: the topics in first, then the command
// topic of each region. name returns the output of a region, and false if the region is not in
// regions.
func Outputs(regions []string, first ...string) (outputs []stream.Output, name func(region string) (string, bool), err error) {
	if len(regions) == 0 {
		return nil, nil, fmt.Errorf("no regions: name all regions that have a replica of the lease table")
	}
	regions = slices.Compact(slices.Sorted(slices.Values(regions)))
	topics := slices.Clone(first)
	for _, r := range regions {
		if err := lease.CheckName("region", r, lease.MaxName); err != nil {
			return nil, nil, err
		}
		topics = append(topics, events.LeaseCommandsTopic(r))
	}
	return stream.OutputTopics(topics...), func(region string) (string, bool) {
		i, ok := slices.BinarySearch(regions, region)
		if !ok {
			return "", false
		}
		return topics[len(first)+i], true
	}, nil
}
