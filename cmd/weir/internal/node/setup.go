package node

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel/trace"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/local"
	"github.com/weirhq/weir/api/metrics"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/obs"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/stream"
)

// Setup is what Role.New gets. Memory is that of the role; the roles of a process share the rest.
type Setup struct {
	Config *config.Config
	Role   string
	Kafka  kafka.Cluster
	Dial   func(role, dc string) Dial // see Config.Dial
	// brokers are those of Kafka, for parts to wait for.
	brokers *brokers
	cache   *sharedCache
	Table   *LeaseTable // nil unless a role of the process has LeaseTable
	Memory  Allocation
	Topics  []stream.Topic // those of the role
	Log     zerolog.Logger
	Traces  trace.TracerProvider // nil: no traces
	// StreamPoll is the interval between reads of a DynamoDB stream without new records. 0: the
	// default of package bridge.
	StreamPoll time.Duration

	Access Access
	// API is the configuration of the process's API. A role adds the sources of what it serves.
	API *api.Config
	// Cluster is the source of API.Cluster. A role adds what producers of its topics need.
	Cluster *local.ClusterInfo

	Registry     *obs.Registry
	Runtime      *processors.Metrics   // of the runtimes of all roles
	LeaseMetrics func() *metrics.Lease // registers the metrics of the lease loop at the first call
	// RoleMetrics returns the metrics of a role that depends on another cluster.
	RoleMetrics func(role string) (waiting prometheus.Gauge, failed prometheus.Counter)
}

// reach returns a cluster of a datacentre as the role reaches it.
func (s *Setup) reach(k kafka.Cluster, dc string) kafka.Cluster {
	if s.Dial != nil {
		k.Options = slices.Clone(k.Options) // those of k belong to others, too
		k.WithDialer(s.Dial(s.Role, dc))
	}
	return k
}

// processor makes the part of a processor, whose application the API serves. check may be nil.
// adjust changes the configuration of the runtime.
func (s *Setup) processor(p stream.Processor, check local.StateCheck, adjust func(*processors.Config)) (processorPart, error) {
	c := processorConfig(s.Config, s.Kafka, &s.Log, s.Memory)
	c.Metrics, c.Topics, c.MinInsync = s.Runtime, s.Topics, s.Config.Topics.MinInSync
	adjust(&c)
	rt, err := processors.New(c, p)
	if err != nil {
		return processorPart{}, &ConfigError{
			"cannot set up the processor " + p.App, err, "correct the configuration; `weir config print` shows it",
		}
	}
	s.Registry.MustRegister(rt.Collector())
	app := local.NewApp(local.AppConfig{Runtime: rt, Kafka: s.Kafka, Check: check, TLS: s.Access.TLS, Roots: s.Access.Roots})
	s.API.Apps = append(s.API.Apps, app)
	return processorPart{rt, app.State, s.brokers}, nil
}

// processorConfig returns the configuration of a runtime that has memory.
func processorConfig(c *config.Config, k kafka.Cluster, log *zerolog.Logger, memory Allocation) processors.Config {
	p := c.Processor
	return processors.Config{
		Kafka: k, Dir: c.DataDir, Instance: c.Instance, Log: log,
		Workers: memory.Workers, CommitInterval: p.CommitInterval, CommitIntervalMax: p.CommitIntervalMax,
		CommitRecords: p.CommitRecords, CommitBytes: int(memory.Changes), StandbyHandlerBytes: memory.Handlers, PollRecords: p.PollRecords,
		Standbys: p.Standbys, SessionTimeout: p.SessionTimeout, TransactionTimeout: p.TransactionTimeout,
		StopTimeout: p.ShutdownTimeout / 2, // the other half is for requests before it, and for leaving the group after it
		CacheBytes:  memory.Cache, MemtableBytes: memory.WriteBuffers, FetchBytes: int32(memory.Fetch),
	}
}
