package spendcache

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/healthage"
	"github.com/weirhq/weir/internal/slogger"
	"github.com/weirhq/weir/processors/follower"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/spendcache/selection"
)

// Config is the configuration of a Cache. Kafka, Dir and DC must be set. The zero value of every
// other field works.
type Config struct {
	// Kafka is the cluster of this datacentre.
	Kafka kafka.Cluster
	// Dir is the state directory. The rows are in its subdirectory Name.
	Dir string
	// Name is the name of the subdirectory. Defaults to spendcache.
	Name string
	// DC is this datacentre.
	DC string
	// Ring has all datacentres, this one included, in the same order everywhere. Defaults to DC
	// alone.
	Ring []string
	// Writers are the datacentres that push their datasets into this one. Each is one of Ring.
	// Defaults to none.
	Writers []string
	// Layout is that of the topics of the spend counter. Defaults to generation 1 with the default
	// number of shards.
	Layout events.Layout
	// Pacing is whether the cache also follows how this datacentre paces campaigns, for Packs.
	Pacing bool
	// Others are the datacentres whose packs are served while no process paces the accounts of a
	// shard here, in order of preference. They need Pacing. Defaults to none.
	Others []Other
	// Writer returns the datacentre whose packs are served by the decision of an operator: DC, or
	// one of Others. It has no effect on a shard that no process paces there. Defaults to none:
	// empty.
	Writer func(now time.Time) string
	// Selection has the thresholds. Local and Ring are set by New.
	Selection selection.Config
	// FS is the file system of Dir. Defaults to the operating system's.
	FS follower.FS
	// Instance names the process in the error of another process that needs the same directory.
	// Defaults to the host name.
	Instance string
	// CacheBytes, MemtableBytes and FetchBytes are those of follower.Config. Others have a part of
	// them.
	CacheBytes, MemtableBytes int64
	FetchBytes                int32
	// Log receives the events of docs/log-events.md. Defaults to none.
	Log *zerolog.Logger

	ageOf healthage.Rule // tests set another one
}

// ErrConfig means that the Config is wrong. The error names the field.
var ErrConfig = errors.New("invalid configuration of a spend cache")

// setDefaults sets defaults and returns an error for an invalid field: ErrConfig.
func (c *Config) setDefaults() error {
	c.Name = cmp.Or(c.Name, "spendcache")
	c.CacheBytes, c.MemtableBytes, c.FetchBytes = cmp.Or(c.CacheBytes, 64<<20), cmp.Or(c.MemtableBytes, 96<<20), cmp.Or(c.FetchBytes, 8<<20)
	c.Log = slogger.Choose(c.Log, nil)
	if c.Writer == nil {
		c.Writer = func(time.Time) string { return "" }
	}
	if c.ageOf == nil {
		c.ageOf = (*healthage.Row).AgeOf
	}
	if err := events.ValidateDC(c.DC); err != nil {
		return fmt.Errorf("%w: DC: %w", ErrConfig, err)
	}
	if len(c.Ring) == 0 {
		c.Ring = []string{c.DC}
	}
	for n, dc := range c.Writers {
		switch {
		case dc == c.DC:
			return fmt.Errorf("%w: Writers has the own datacentre %q: leave it out", ErrConfig, dc)
		case !slices.Contains(c.Ring, dc):
			return fmt.Errorf("%w: Writers has %q, which is not in Ring: Ring has all datacentres", ErrConfig, dc)
		case slices.Contains(c.Writers[:n], dc):
			return fmt.Errorf("%w: Writers has %q twice: remove one", ErrConfig, dc)
		}
	}
	c.Selection.Local, c.Selection.Ring = c.DC, c.Ring
	return c.checkOthers()
}

func (c *Config) checkOthers() error {
	for n, o := range c.Others {
		if err := events.ValidateDC(o.DC); err != nil {
			return fmt.Errorf("%w: Others: %w", ErrConfig, err)
		}
		switch {
		case !c.Pacing:
			return fmt.Errorf("%w: Others need Pacing", ErrConfig)
		case o.DC == c.DC:
			return fmt.Errorf("%w: Others has the own datacentre %q: leave it out", ErrConfig, o.DC)
		case slices.ContainsFunc(c.Others[:n], func(b Other) bool { return b.DC == o.DC }):
			return fmt.Errorf("%w: Others has %q twice: remove one", ErrConfig, o.DC)
		}
	}
	return nil
}

// datasets returns the datacentres whose datasets are here, in order of preference: the own one,
// then as they follow it in the ring.
func (c *Config) datasets() []string {
	list := []string{c.DC}
	at := slices.Index(c.Ring, c.DC)
	for n := 1; n < len(c.Ring); n++ {
		if dc := c.Ring[(at+n)%len(c.Ring)]; slices.Contains(c.Writers, dc) {
			list = append(list, dc)
		}
	}
	return list
}

// topic returns the topic of a dataset here.
func (c *Config) topic(dc string) string {
	if dc == c.DC {
		return c.Layout.Name(events.SpendTopic(dc))
	}
	return c.Layout.Name(events.CopiedSpendTopic(dc))
}

// Topics returns the topics that a cache reads.
func (c Config) Topics() (names []string) {
	for _, dc := range c.datasets() {
		names = append(names, c.topic(dc))
	}
	if c.Pacing {
		names = append(names, c.packs())
	}
	return names
}

// packs returns the topic of how this datacentre paces campaigns.
func (c *Config) packs() string { return c.Layout.Name(events.PacingTopic(c.DC)) }

// ownParts is the share of the memory that the own datasets have, in units of that of each of
// Others.
const ownParts = 4

// other returns the configuration of the follower of another datacentre.
func (c *Config) other(o *Other) follower.Config {
	parts := int64(len(c.Others)) + ownParts
	return follower.Config{
		Kafka: o.Kafka, Dir: c.Dir, Name: c.Name + ".pacing." + o.DC, FS: c.FS, Instance: c.Instance, Log: c.Log,
		CacheBytes: c.CacheBytes / parts, MemtableBytes: c.MemtableBytes / parts, FetchBytes: int32(int64(c.FetchBytes) / parts),
		Topics: []follower.Topic{{Name: c.Layout.Name(events.PacingTopic(o.DC)), Changelog: true}},
	}
}

func (c *Config) follower() follower.Config {
	f := follower.Config{
		Kafka: c.Kafka, Dir: c.Dir, Name: c.Name, FS: c.FS, Instance: c.Instance, CacheBytes: c.CacheBytes, MemtableBytes: c.MemtableBytes,
		FetchBytes: c.FetchBytes, Log: c.Log,
	}
	if parts := int64(len(c.Others)); parts > 0 {
		parts += ownParts
		f.CacheBytes, f.MemtableBytes = c.CacheBytes*ownParts/parts, c.MemtableBytes*ownParts/parts
		f.FetchBytes = int32(int64(c.FetchBytes) * ownParts / parts)
	}
	for _, name := range c.Topics() {
		f.Topics = append(f.Topics, follower.Topic{Name: name, Changelog: true})
	}
	return f
}
