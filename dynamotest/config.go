package dynamotest

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/weirhq/weir/dynamotest/internal/stream"
)

// Config is the configuration of a Cloud. With the zero value, the cloud has one region, keeps its
// tables in memory and uses the system's clock; nothing lags and nothing fails.
type Config struct {
	// Regions are the names of the regions: 1 to 40 characters of a-z, 0-9 and dash. Defaults to
	// eu-west-1 alone.
	Regions []string
	// Profile is the behaviour of the regions. Hostile and Friendly return two profiles. Defaults
	// to a profile without lag and faults.
	Profile Profile
	// Clock is the source of time. Defaults to the system's clock, which in a testing/synctest
	// bubble is the bubble's clock.
	Clock Clock
	// Seed seeds all random choices. The same seed, the same calls in the same order and the same
	// readings of the clock give the same results. Defaults to 0, which is as good as any other
	// seed.
	Seed uint64
	// Dir is a directory that keeps the tables, for one process at a time. New creates it if it
	// does not exist. Defaults to none: the tables end with the process.
	Dir string
	// AccessKeyID is the only access key id that a request may be signed with. The signature itself
	// is not verified. Defaults to "": requests need no signature.
	AccessKeyID string
	// AllowedHosts are further names in the Host header that Serve answers, such as the name of
	// this machine. Without this check a web page could read and write the tables through a name
	// that resolves to 127.0.0.1. Defaults to none: localhost and IP addresses only.
	AllowedHosts []string
}

// Span is a range of durations with a uniform distribution. The zero Span is always 0.
type Span struct {
	Min, Max time.Duration
}

// Link is the direction in which writes are replicated: from one region to another.
type Link struct {
	From, To string
}

// Profile is the behaviour of the regions. With the zero value nothing lags, nothing fails, and
// each stream has one shard.
type Profile struct {
	// IndexLag is the time after which an index shows a write. The writes of one item appear in
	// order, the writes of several items in any order.
	IndexLag Span
	// ReadLag is the time after which an eventually consistent read of a table shows a write, in
	// the same order.
	ReadLag Span
	// StreamLag is the time after which GetRecords returns the record of a write.
	StreamLag Span
	// ReplicationLag is the time after which another region has a write, in the same order.
	ReplicationLag Span
	// Links are the lags of the links that differ from ReplicationLag.
	Links map[Link]Span
	// Merge is the probability, from 0 to 1, that a write replaces an earlier write of the same
	// item that is still on its way to another region. That region then never sees the earlier
	// write.
	Merge float64
	// TableDelay is the time for which a table is CREATING or UPDATING, or an index is CREATING.
	TableDelay time.Duration
	// Shards is the number of open shards of a new stream. Defaults to 1.
	Shards int
	// MaxShards is the maximum number of open shards of a stream. While a stream has fewer, some of
	// its shards split when they close. Defaults to Shards.
	MaxShards int
	// Rollover is the time after which a shard closes and a child shard replaces it. Defaults to no
	// limit.
	Rollover time.Duration
	// RolloverRecords is the number of records after which a shard closes. Defaults to no limit.
	RolloverRecords int
	// StreamRetention is the time for which the records of a new stream can be read. A stream keeps
	// its own over a restart. Defaults to 24 hours, as in DynamoDB.
	StreamRetention time.Duration
	// Faults are the faults that are injected from the start. SetFaults replaces them.
	Faults []Fault
}

// Hostile returns the profile for tests: everything lags and is reordered as far as DynamoDB
// permits, shards close after two seconds, and about four requests in a hundred are throttled, fail
// or get no answer.
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

// Friendly returns the profile for demonstrations: replication takes 40 to 120 ms, indexes lag by
// up to 10 ms, and there are no faults.
func Friendly() Profile {
	return Profile{
		IndexLag: Span{time.Millisecond, 10 * time.Millisecond}, StreamLag: Span{5 * time.Millisecond, 20 * time.Millisecond},
		ReplicationLag: Span{40 * time.Millisecond, 120 * time.Millisecond}, Shards: 2, Rollover: 4 * time.Hour,
	}
}

func (p Profile) streamSettings() stream.Settings {
	return stream.Settings{
		Shards: p.Shards, MaxShards: p.MaxShards, Rollover: p.Rollover, RolloverRecords: p.RolloverRecords, Retention: p.StreamRetention,
	}
}

// check returns an error about the first setting that is not valid.
func (cfg Config) check() error {
	name := regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
	for i, r := range cfg.Regions {
		if !name.MatchString(r) || slices.Contains(cfg.Regions[:i], r) {
			return fmt.Errorf(
				"dynamotest: Config.Regions: %q is not valid or is there twice: use different names of 1 to 40 characters of a-z, 0-9 and -", r)
		}
	}
	spans := map[string]Span{
		"IndexLag": cfg.Profile.IndexLag, "ReadLag": cfg.Profile.ReadLag, "StreamLag": cfg.Profile.StreamLag,
		"ReplicationLag": cfg.Profile.ReplicationLag,
	}
	for l, s := range cfg.Profile.Links {
		if !slices.Contains(cfg.Regions, l.From) || !slices.Contains(cfg.Regions, l.To) {
			return fmt.Errorf("dynamotest: Profile.Links: the link from %q to %q: both must be among the regions %q", l.From, l.To,
				cfg.Regions)
		}
		spans["the lag of the link from "+l.From+" to "+l.To] = s
	}
	for name, s := range spans {
		if s.Min < 0 || s.Max < s.Min {
			return fmt.Errorf("dynamotest: Profile: %s is from %s to %s, want 0 <= Min <= Max", name, s.Min, s.Max)
		}
	}
	if m := cfg.Profile.Merge; m < 0 || m > 1 {
		return fmt.Errorf("dynamotest: Profile.Merge is %g, want a number from 0 to 1", m)
	}
	if d := cfg.Profile.StreamRetention; d < 0 {
		return fmt.Errorf("dynamotest: Profile.StreamRetention is %s, want a time above 0, or 0 for 24 h", d)
	}
	return checkFaults(cfg.Profile.Faults)
}
