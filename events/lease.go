package events

import (
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/stream"
)

// Topics of the lease loop. One Kafka holds the topics of a whole deployment, whatever the number
// of regions. The comments name the message of eventspb that each topic carries.
const (
	LeaseChangesTopic    = "lease.changes"    // LeaseChange: the versions of every row, from the streams of all regions
	LeaseResultsTopic    = "lease.results"    // LeaseResult: the outcomes of the commands
	LeaseHeadroomTopic   = "lease.headroom"   // LeaseHeadroom: the free resources and the forecast of each pool in each region
	LeaseJournalTopic    = "lease.journal"    // LeaseJournalEntry: the decisions, with their reasons as sentences
	LeaseDuplicatesTopic = "lease.duplicates" // LeaseDuplicate: keys that were leased in several regions at once
	LeaseRejectedTopic   = "lease.rejected"   // LeaseReject: stream records that do not fit the table's schema
	LeaseBridgeTopic     = "lease.bridge"     // requests to bridges; partition = the region's index in the deployment's list

	// MaxLeaseRegions is the greatest number of regions of a deployment. It is the number of
	// partitions of the topics that are keyed by region. The partition of a region is its index in
	// the list of regions, so that new regions can be appended to the list.
	MaxLeaseRegions = 32

	// DefaultLeasePartitions is the default number of partitions of the topics keyed by pool.
	DefaultLeasePartitions = 12
)

// Applications of the lease loop. Consumer groups, transactional ids and state directories are
// named after them.
const (
	BridgeApp     = "lease-bridge"
	LiberatorApp  = "lease-liberator"
	DedupApp      = "lease-dedup"
	BalancerApp   = "lease-balancer"
	ExecutorGroup = "lease-executor" // the prefix of LeaseExecutorGroup
)

// LeaseCommandsTopic returns the topic of the commands to the executor of region, the name of a
// region.
func LeaseCommandsTopic(region string) string { return "lease.commands." + region }

// LeaseExecutorGroup returns the consumer group of the executors of one region.
func LeaseExecutorGroup(region string) string { return ExecutorGroup + "." + region }

// LeaseStateTopic returns the changelog topic of an application.
func LeaseStateTopic(app string) string { return app + ".state" }

// LeaseShard returns the partition of a pool's records in a topic of partitions partitions:
// xxHash64 of client, a zero byte and pool, as an unsigned number, modulo partitions. partitions
// must be at least 1.
func LeaseShard(client, pool string, partitions int32) int32 {
	return int32(xxhash.Sum64String(client+"\x00"+pool) % uint64(partitions))
}

// LeaseCatalog returns every topic of the lease loop: requests and changes first, then results,
// commands and the state of the applications. regions are the names of the deployment's regions, in
// any order. partitions is the number of partitions of the topics that are keyed by pool, 0 for
// DefaultLeasePartitions.
func LeaseCatalog(regions []string, partitions int32) []stream.Topic {
	if partitions == 0 {
		partitions = DefaultLeasePartitions
	}
	input := func(bytes int) map[string]string { return map[string]string{"max.message.bytes": strconv.Itoa(bytes)} }
	small := stream.CompactConfig(16<<20, 10*time.Minute, day, "0.5")
	topics := []stream.Topic{
		{
			Name: LeaseBridgeTopic, Key: "region", Partitions: MaxLeaseRegions, Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch), Doc: "requests to the bridge of a region; partition = the region's index in the list of regions",
		},
		{
			Name: LeaseChangesTopic, Key: "client and pool", Partitions: partitions, Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch),
			Doc:    "LeaseChange: a new version of a row of the lease table, from the DynamoDB stream of the region that wrote it",
		},
		{
			Name: LeaseResultsTopic, Key: "client and pool", Partitions: partitions, Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch), Doc: "LeaseResult: the outcome of a command",
		},
		{
			Name: LeaseHeadroomTopic, Key: "client, pool and region", Partitions: partitions, Cleanup: stream.CleanupCompact,
			Config: small, Doc: "LeaseHeadroom: the free resources and the forecast of a pool in a region",
		},
		{
			Name: LeaseJournalTopic, Key: "client and pool", Partitions: partitions, Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch), Doc: "LeaseJournalEntry: a decision and its reason, as a sentence",
		},
		{
			Name: LeaseDuplicatesTopic, Key: "client, pool and key", Partitions: partitions, Cleanup: stream.CleanupCompact,
			Config: small, Doc: "LeaseDuplicate: a key that was leased in several regions at once",
		},
		{
			Name: LeaseRejectedTopic, Key: "primary key of the row", Partitions: partitions, Cleanup: stream.CleanupDelete,
			Retention: 30 * day,
			Config:    input(MaxDLQBatch), Doc: "LeaseReject: a record of a DynamoDB stream that does not fit the table's schema",
		},
	}
	for _, r := range slices.Sorted(slices.Values(regions)) {
		topics = append(topics, stream.Topic{
			Name: LeaseCommandsTopic(r), Key: "client and pool", Partitions: partitions, Cleanup: stream.CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch), Doc: "LeaseCommand: conditional writes for the executor of " + r,
		})
	}
	for i := range topics {
		topics[i].Changelog = LeaseStateTopic(LiberatorApp) // of one of several applications with equal numbers
		if topics[i].Name == LeaseBridgeTopic {
			topics[i].Changelog = LeaseStateTopic(BridgeApp)
		}
	}
	for _, app := range []string{BridgeApp, LiberatorApp, DedupApp, BalancerApp} {
		n := partitions
		if app == BridgeApp {
			n = MaxLeaseRegions
		}
		topics = append(topics, stream.Topic{
			Name: LeaseStateTopic(app), Changelog: LeaseStateTopic(app), Key: "state", Partitions: n, Cleanup: stream.CleanupCompact,
			Config: stream.ChangelogTopic("", 0).Config, Doc: "the changelog of " + app,
		}, stream.Topic{
			Name: app + ".dlq", Changelog: LeaseStateTopic(app), Key: "origin topic, partition and offset", Partitions: n,
			Cleanup: stream.CleanupCompact, Config: stream.DeadLetterTopic("", 0).Config,
			Doc: "a record that " + app + " rejected, with its bytes, origin and reason",
		})
	}
	return topics
}
