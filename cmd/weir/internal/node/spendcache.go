package node

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/spendcache"
	"github.com/weirhq/weir/stream"
)

func spendCacheRole() Role {
	return Role{
		Name: "spendcache", Group: spendGroup(), Dev: true,
		Summary: "serves the spend of accounts to ad servers, from the healthiest dataset",
		Weight:  2, Memory: cacheMemory,
		Topics: cacheTopics, ACLs: cacheRoleACLs, Doctor: checkOtherPacing,
		Settings: []string{"dc", "dcs"},
		New:      newCachePart,
	}
}

// SpendCache returns the configuration of the spend cache of the role spendcache, without its
// connection and memory.
func SpendCache(c *config.Config) spendcache.Config {
	out := spendcache.Config{
		Dir: c.DataDir, Instance: c.Instance, DC: c.DC, Writers: c.PushWriters(), Layout: SpendCounter(c).Layout, Pacing: true,
	}
	for _, d := range c.DCs {
		out.Ring = append(out.Ring, d.Name)
	}
	return out
}

// cacheTopics returns the datasets that this datacentre has, and the packs of its controller.
func cacheTopics(c *config.Config) (topics []stream.Topic) {
	cache := SpendCache(c)
	for _, t := range slices.Concat(SpendCounter(c).Topics(), pushTopics(c), Pacing(c).Topics()) {
		if slices.Contains(cache.Topics(), t.Name) {
			topics = append(topics, t)
		}
	}
	return topics
}

// readACL is the rights to follow a topic.
func readACL(topic string) string {
	return "--topic " + topic + " --operation Read --operation Describe --operation DescribeConfigs"
}

// cacheACLs lists the rights of a spend cache.
func cacheACLs(c *config.Config) (lines []string, err error) {
	for _, name := range SpendCache(c).Topics() {
		lines = append(lines, readACL(name))
	}
	return lines, nil
}

// cacheRoleACLs lists the rights of the role: also to follow how other datacentres pace campaigns.
func cacheRoleACLs(c *config.Config) (lines []string, err error) {
	lines, err = cacheACLs(c)
	l := SpendCounter(c).Layout
	lines = append(lines, "--topic "+l.Name(events.PacingOverridesTopic)+" --operation Read --operation Describe",
		"--topic "+l.Name(events.InsertionsTopic)+" --operation Write")
	for _, d := range c.PushTargets() {
		lines = append(lines, "at the Kafka of "+d.Name+":", readACL(l.Name(events.PacingTopic(d.Name))))
	}
	return lines, err
}

// otherPacing returns the datacentres whose packs are served while this one does not pace: the next
// two of the ring.
func (s *Setup) otherPacing() (list []spendcache.Other, err error) {
	for _, d := range s.Config.PushTargets() {
		k, err := PeerKafka(d)
		if err != nil {
			return nil, err
		}
		list = append(list, spendcache.Other{DC: d.Name, Kafka: s.reach(k, d.Name)})
	}
	return list, nil
}

// Parts of the share of the spend cache.
const (
	minCacheFetch = 1 << 20
	maxCacheFetch = 8 << 20
)

func cacheMemory(_ *config.Config, share int64) Allocation {
	a := Allocation{
		Share: share, Cache: max(minStore, share*3/8), WriteBuffers: max(minStore, share/4),
		Fetch: max(minCacheFetch, min(maxCacheFetch, share/40)),
	}
	a.Uses = []Use{
		{"block cache", a.Cache, "of the store"},
		{"write buffers", a.WriteBuffers, "of the store, and rows that are loaded"},
		{
			"fetched records", recordsPerFetch * a.Fetch,
			fmt.Sprintf("%d bytes of fetches; decoded records take about ten times as much", a.Fetch),
		},
	}
	return a
}

// cachePart is the spend cache of a process.
type cachePart struct {
	cache     *spendcache.Cache
	operators *writerOverride
	shown     *insertionSink
}

// Close implements closer.
func (p cachePart) Close() { p.shown.Close() }

// sharedCache is the spend cache of the role spendcache, for the roles after it.
type sharedCache struct{ cache *spendcache.Cache }

// newSpendCache makes the spend cache of the process.
func (s *Setup) newSpendCache(cfg spendcache.Config, memory Allocation) (*spendcache.Cache, error) {
	cfg.Kafka, cfg.Log = s.Kafka, &s.Log
	cfg.CacheBytes, cfg.MemtableBytes, cfg.FetchBytes = memory.Cache, memory.WriteBuffers, int32(memory.Fetch)
	cache, err := spendcache.New(cfg)
	if err != nil {
		return nil, err
	}
	s.Registry.MustRegister(cache.Collector())
	return cache, nil
}

func newCachePart(s *Setup) (Part, error) {
	cfg := SpendCache(s.Config)
	var err error
	if cfg.Others, err = s.otherPacing(); err != nil {
		return nil, err
	}
	operators := newWriterOverride(s.Kafka, cfg.Layout, s.Log)
	cfg.Writer = operators.writer
	cache, err := s.newSpendCache(cfg, s.Memory)
	if err != nil {
		return nil, err
	}
	s.cache.cache = cache
	shown := newInsertionSink(s.Kafka, cfg.Layout)
	s.API.SpendCache, s.API.Insertions = cacheSource{cache}, shown
	layout := SpendCounter(s.Config).Layout
	s.Cluster.DC, s.Cluster.Layout, s.Cluster.DCs = s.Config.DC, &layout, s.Config.Ring()
	return cachePart{cache, operators, shown}, nil
}

// Run implements Part.
func (p cachePart) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	following.Go(func() { p.operators.run(ctx) })
	err := p.cache.Run(ctx)
	cancel()
	following.Wait()
	return err
}

// Ready implements Part.
func (p cachePart) Ready(context.Context) Readiness {
	r := Readiness{}
	for _, s := range p.cache.Status() {
		if s.State == follower.StateFollowing {
			r.Partitions++
		}
	}
	if ready, why := p.cache.Ready(); !ready {
		r.Reasons = []string{why}
	}
	return r
}
