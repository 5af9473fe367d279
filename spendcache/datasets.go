package spendcache

import "github.com/weirhq/weir/spendcache/selection"

// Dataset is one dataset of a shard.
type Dataset struct {
	selection.Assessment
	Chosen bool
}

// ShardDatasets are the datasets of a shard, and which one is used.
type ShardDatasets struct {
	Choice *Choice
	// Datasets are in order of preference: the own one, then as they follow it in the ring.
	Datasets []Dataset
}

// Datasets returns the datasets of all shards, in order. It returns fewer while the cache has not
// evaluated them yet.
func (c *Cache) Datasets() (list []ShardDatasets) {
	for n := range c.shards {
		choice := c.shards[n].choice.Load()
		if choice == nil {
			continue
		}
		s := ShardDatasets{Choice: choice}
		for _, a := range choice.datasets {
			s.Datasets = append(s.Datasets, Dataset{Assessment: a, Chosen: choice.Mode == selection.Normal && a.DC == choice.DC})
		}
		list = append(list, s)
	}
	return list
}
