package events

import (
	"slices"
	"strconv"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Topics of the lease loop. All of one deployment are in one Kafka, whatever the number of regions.
const (
	LeaseChangesTopic    = "lease.changes"    // LeaseChange: every row's history, from the streams of all regions
	LeaseResultsTopic    = "lease.results"    // LeaseResult: what became of the commands
	LeaseHeadroomTopic   = "lease.headroom"   // LeaseHeadroom: how each pool stands in each region
	LeaseJournalTopic    = "lease.journal"    // LeaseNote: what was decided, in sentences
	LeaseDuplicatesTopic = "lease.duplicates" // LeaseDuplicate: keys that were leased twice
	LeaseRejectedTopic   = "lease.rejected"   // LeaseReject: records of a stream that are not of the table's schema
	LeaseBridgeTopic     = "lease.bridge"     // what bridges are told; partition = the region's place among leases.regions

	// MaxLeaseRegions is how many regions a deployment can have: the partitions of the topics that are keyed by region. A region's
	// is its place in the list of regions, so that others can be added at its end.
	MaxLeaseRegions = 32

	// DefaultLeasePartitions is the number of partitions of the topics that are keyed by pool.
	DefaultLeasePartitions = 12
)

// Applications of the lease loop: groups, transactional ids, directories.
const (
	BridgeApp     = "lease-bridge"
	LiberatorApp  = "lease-liberator"
	DedupApp      = "lease-dedup"
	BalancerApp   = "lease-balancer"
	ExecutorGroup = "lease-executor" // one for each region: see LeaseExecutorGroup
)

// LeaseCommandsTopic is the topic of the commands to one region's executor. region must be a region's name.
func LeaseCommandsTopic(region string) string { return "lease.commands." + region }

// LeaseExecutorGroup is the group of the executors of one region.
func LeaseExecutorGroup(region string) string { return ExecutorGroup + "." + region }

// LeaseStateTopic is the changelog of an application.
func LeaseStateTopic(app string) string { return app + ".state" }

// LeaseShard is the partition of a pool's records among partitions, which is at least 1: xxHash64 of client, a zero byte and
// pool, as an unsigned number, modulo partitions.
func LeaseShard(client, pool string, partitions int32) int32 {
	return int32(xxhash.Sum64String(client+"\x00"+pool) % uint64(partitions))
}

// LeaseCatalog is every topic of the lease loop, in the order of a change's way.
func LeaseCatalog(regions []string, partitions int32) []Topic {
	if partitions == 0 {
		partitions = DefaultLeasePartitions
	}
	input := func(bytes int) map[string]string { return map[string]string{"max.message.bytes": strconv.Itoa(bytes)} }
	small := compactConfig(16<<20, 10*time.Minute, day, "0.5")
	topics := []Topic{
		{
			Name: LeaseBridgeTopic, Key: "region", Partitions: MaxLeaseRegions, Cleanup: CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch), Doc: "what the bridge of a region is told; partition = the region's place among leases.regions",
		},
		{
			Name: LeaseChangesTopic, Key: "client and pool", Partitions: partitions, Cleanup: CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch), Doc: "LeaseChange: what became of a row of the table, from the stream of the region that wrote it",
		},
		{
			Name: LeaseResultsTopic, Key: "client and pool", Partitions: partitions, Cleanup: CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch), Doc: "LeaseResult: what became of a command",
		},
		{
			Name: LeaseHeadroomTopic, Key: "client, pool and region", Partitions: partitions, Cleanup: CleanupCompact,
			Config: small, Doc: "LeaseHeadroom: how a pool stands in a region",
		},
		{
			Name: LeaseJournalTopic, Key: "client and pool", Partitions: partitions, Cleanup: CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch), Doc: "LeaseNote: what was decided and why, for people",
		},
		{
			Name: LeaseDuplicatesTopic, Key: "client, pool and key", Partitions: partitions, Cleanup: CleanupCompact,
			Config: small, Doc: "LeaseDuplicate: a key that was leased in several regions at once",
		},
		{
			Name: LeaseRejectedTopic, Key: "primary key of the row", Partitions: partitions, Cleanup: CleanupDelete, Retention: 30 * day,
			Config: input(MaxDLQBatch), Doc: "LeaseReject: a record of a stream that is not of the table's schema",
		},
	}
	for _, r := range slices.Sorted(slices.Values(regions)) {
		topics = append(topics, Topic{
			Name: LeaseCommandsTopic(r), Key: "client and pool", Partitions: partitions, Cleanup: CleanupDelete, Retention: 7 * day,
			Config: input(MaxEventBatch), Doc: "LeaseCommand: writes for the executor of " + r,
		})
	}
	for _, app := range []string{BridgeApp, LiberatorApp, DedupApp, BalancerApp} {
		n := partitions
		if app == BridgeApp {
			n = MaxLeaseRegions
		}
		topics = append(topics, Topic{
			Name: LeaseStateTopic(app), Key: "state", Partitions: n, Cleanup: CleanupCompact, Config: spendConfig(), Doc: "the state of " + app,
		}, Topic{
			Name: app + ".dlq", Key: "origin topic, partition and offset", Partitions: n, Cleanup: CleanupCompact, Config: dlqConfig(),
			Doc: "a record that " + app + " could not take, with bytes, origin and reason",
		})
	}
	return topics
}
