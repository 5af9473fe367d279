package processorstest

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/stream"
)

// StateDir is Config.Dir of every process. It is on the process's own disk: see Harness.Disk.
const StateDir = "/state"

// Options describe a run.
type Options struct {
	// Processor is what runs. The harness creates its topics.
	Processor stream.Processor
	// Config is the configuration of every process. The harness sets Kafka.Brokers, Dir, FS and
	// Instance. Workers defaults to 2, CacheBytes to 1 MiB, and Log to a log that the test shows
	// when it fails.
	Config processors.Config
	// Partitions is the number of partitions of every topic. Defaults to Processor.Partitions, or
	// 4.
	Partitions int32
	// Topics are created beside those of the processor.
	Topics []string
	// Brokers is the number of brokers, 1 to 3. Defaults to 3. Each broker costs every client its
	// own fetches, so long runs of many processors are faster with fewer.
	Brokers int
	// Seed decides which unsynced writes a crash leaves on a disk. Defaults to 0.
	Seed uint64
	// DeliverAfterKill lets the requests that a killed process has already handed to its client
	// reach the brokers, as the kernel delivers what a killed process has written to its sockets.
	// By default a kill breaks the connections at once. Set Config.RemainInGroup too: a killed
	// process does not leave its group.
	DeliverAfterKill bool
	// NoRefold leaves out the comparison with an undisturbed handler. It is for handlers whose
	// result depends on more than the records of a partition and the ends of its transactions: on
	// the order between inputs, on the owner epoch, on chance. See "Timers" in the package comment.
	NoRefold bool
	// Own reports whether an output record is of this processor, where others write to the same
	// topic. Defaults to all records of its output topics.
	Own func(r *kgo.Record) bool
	// NoChecks leaves out every check at the end. It is for tests that break what the brokers
	// promise, or that change topics and offsets behind the processor's back.
	NoChecks bool
	// CheckInterval is the time between two comparisons of the stores with the group's committed
	// offsets. Defaults to 100 ms. Long runs are faster with a longer one.
	CheckInterval time.Duration
}
