package dynamotest

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/weirhq/weir/dynamotest/internal/stream"
)

// Config says what New makes. Its zero value is one region, in memory, on the system's clock, where nothing lags and
// nothing fails.
type Config struct {
	// Regions are the names of the regions. Defaults to eu-west-1 alone.
	Regions []string
	// Profile is how the regions behave. Hostile and Friendly return two; defaults to one without lag and faults.
	Profile Profile
	// Clock tells the time. Defaults to the system's clock, which in a testing/synctest bubble is the bubble's.
	Clock Clock
	// Seed is what all that looks like chance is drawn from. The same seed, calls in the same order, and the same
	// readings of the clock give the same results. Defaults to 0, a seed as good as any.
	Seed uint64
	// Dir is a directory that keeps the tables. Defaults to none: they are gone with the process.
	Dir string
	// AccessKeyID is the only one that requests may be signed with. Defaults to any, or no signature at all. The
	// signature itself is not computed.
	AccessKeyID string
}

// Span is a range of durations that one is drawn from, each as likely. The zero Span is no time at all.
type Span struct {
	Min, Max time.Duration
}

// Link is the way of replicated writes from one region to another.
type Link struct {
	From, To string
}

// Profile is how the regions behave. The zero value is ideal: nothing lags, nothing fails, streams have one shard.
type Profile struct {
	// IndexLag is when an index shows a write. The writes of one item arrive in order, those of several need not.
	IndexLag Span
	// ReadLag is when a read of a table without ConsistentRead shows a write, in the same way.
	ReadLag Span
	// StreamLag is when a stream shows a write.
	StreamLag Span
	// ReplicationLag is when another region has a write, in the same way.
	ReplicationLag Span
	// Links are the lags of those ways that differ from ReplicationLag.
	Links map[Link]Span
	// Merge is how likely, from 0 to 1, a write is to replace an earlier one of the same item that is still on its way
	// to another region, which then never sees the earlier one.
	Merge float64
	// TableDelay is how long a table is CREATING or UPDATING, or an index CREATING.
	TableDelay time.Duration
	// Shards is how many shards a stream begins with. Defaults to 1.
	Shards int
	// MaxShards is how many shards a stream has open at most; until then some split when they close. Defaults to Shards.
	MaxShards int
	// Rollover is how long a shard is open at most. Defaults to no limit.
	Rollover time.Duration
	// RolloverRecords is how many records a shard takes at most. Defaults to no limit.
	RolloverRecords int
	// Faults are what goes wrong. SetFaults replaces them.
	Faults []Fault
}

// Hostile returns the profile for tests: everything lags and comes in another order where it may, shards roll over after
// two seconds, a few requests in a hundred fail or stay unanswered.
func Hostile() Profile {
	return Profile{
		IndexLag: Span{0, 300 * time.Millisecond}, ReadLag: Span{0, 100 * time.Millisecond}, StreamLag: Span{0, 200 * time.Millisecond},
		ReplicationLag: Span{20 * time.Millisecond, time.Second}, Merge: 0.5, TableDelay: 100 * time.Millisecond,
		Shards: 2, MaxShards: 6, Rollover: 2 * time.Second, RolloverRecords: 1000,
		Faults: []Fault{
			{Kind: Throttle, Rate: 0.02},
			{Kind: ServerError, Rate: 0.01},
			{Kind: LostAnswer, Rate: 0.01},
			{Kind: Slow, Rate: 0.02, Delay: Span{0, 50 * time.Millisecond}},
		},
	}
}

// Friendly returns the profile for a demonstration: regions 40 to 120 ms apart, indexes some milliseconds behind, no faults.
func Friendly() Profile {
	return Profile{
		IndexLag: Span{time.Millisecond, 10 * time.Millisecond}, StreamLag: Span{5 * time.Millisecond, 20 * time.Millisecond},
		ReplicationLag: Span{40 * time.Millisecond, 120 * time.Millisecond}, Shards: 2, Rollover: 4 * time.Hour,
	}
}

func (p Profile) streamSettings() stream.Settings {
	return stream.Settings{Shards: p.Shards, MaxShards: p.MaxShards, Rollover: p.Rollover, RolloverRecords: p.RolloverRecords}
}

// check returns an error that names the first setting that makes no sense.
func (cfg Config) check() error {
	name := regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	for i, r := range cfg.Regions {
		if !name.MatchString(r) || slices.Contains(cfg.Regions[:i], r) {
			return fmt.Errorf("dynamotest: the region %q: give each a name of its own, of a-z, 0-9 and -", r)
		}
	}
	spans := map[string]Span{
		"IndexLag": cfg.Profile.IndexLag, "ReadLag": cfg.Profile.ReadLag, "StreamLag": cfg.Profile.StreamLag, "ReplicationLag": cfg.Profile.ReplicationLag,
	}
	for l, s := range cfg.Profile.Links {
		if !slices.Contains(cfg.Regions, l.From) || !slices.Contains(cfg.Regions, l.To) {
			return fmt.Errorf("dynamotest: the link from %q to %q: name two of the regions %q", l.From, l.To, cfg.Regions)
		}
		spans["the lag of the link from "+l.From+" to "+l.To] = s
	}
	for name, s := range spans {
		if s.Min < 0 || s.Max < s.Min {
			return fmt.Errorf("dynamotest: %s is from %s to %s: give 0 <= Min <= Max", name, s.Min, s.Max)
		}
	}
	if m := cfg.Profile.Merge; m < 0 || m > 1 {
		return fmt.Errorf("dynamotest: Merge is %g: give a number from 0 to 1", m)
	}
	return checkFaults(cfg.Profile.Faults)
}
