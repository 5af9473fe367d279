package connect

import (
	"context"
	"strings"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/spendcounter"
	"github.com/weirhq/weir/stream"
)

const brokersKey = "kafka.brokers"

// Cluster returns the configuration and the connection settings of its brokers. If no brokers are
// set, and --server or WEIR_SERVER names a server, the brokers are those that the server uses. So
// are the settings by which topics are found, unless they are set; one that differs is an error.
// If the server does not run the spend counter, a note names the settings of the counter that are
// defaults.
func Cluster(ctx context.Context, a *cli.App) (*config.Config, kafka.Cluster, error) {
	cfg, theirs, err := clusterConfig(ctx, a)
	if err == nil && theirs != nil && theirs.GetPartitions() == 0 {
		noteDefaults(a, cfg)
	}
	return connected(a, cfg, err)
}

// LeaseCluster is Cluster for a command that uses no setting of the spend counter.
func LeaseCluster(ctx context.Context, a *cli.App) (*config.Config, kafka.Cluster, error) {
	cfg, _, err := clusterConfig(ctx, a)
	return connected(a, cfg, err)
}

// noteDefaults notes the settings of the spend counter that are defaults.
func noteDefaults(a *cli.App, cfg *config.Config) {
	var list []string
	for _, key := range []string{"dc", "spend.partitions", "spend.generation"} {
		if e := entryOf(cfg, key); e.Origin == config.OriginDefault {
			list = append(list, key+" = "+e.Value)
		}
	}
	if last := len(list) - 1; last > 0 {
		list = []string{strings.Join(list[:last], ", ") + " and " + list[last]}
	}
	if len(list) > 0 {
		a.Notef(
			"the server does not run the role spendcounter and does not know its settings: %s are defaults; set them if the counter has others", list[0])
	}
}

// OfServer reports whether the brokers of a configuration are those of a server. Then what Cluster
// does not take from the server is not known: replication, retention and the rules of the count.
func OfServer(cfg *config.Config) bool { return entryOf(cfg, brokersKey).Origin == config.OriginServer }

// OwnCluster is Cluster without a server: for a process that is one, for work while none runs, and
// for commands that need the whole configuration. With WEIR_SERVER the brokers must be set: those
// of the default are hardly meant.
func OwnCluster(a *cli.App) (*config.Config, kafka.Cluster, error) {
	cfg, k, err := LocalCluster(a)
	if err == nil && a.NamesServer() && entryOf(cfg, brokersKey).Origin == config.OriginDefault {
		err = &cli.Failure{
			Code: cli.ExitUsage, What: "no brokers are set", Do: "set --brokers or kafka.brokers",
			Why: "a server is named (--server or " + config.EnvServer +
				"), and this command asks none for its brokers: it needs the whole configuration",
		}
	}
	return cfg, k, err
}

// LocalCluster returns the configuration as it is, for an import, which asks the server itself.
func LocalCluster(a *cli.App) (*config.Config, kafka.Cluster, error) {
	cfg, err := a.LoadConfig()
	return connected(a, cfg, err)
}

func connected(a *cli.App, cfg *config.Config, err error) (*config.Config, kafka.Cluster, error) {
	if err != nil {
		return nil, kafka.Cluster{}, err
	}
	k, err := node.Kafka(cfg)
	k.Waiting = func(brokers []string) { a.Notef("waiting for %s ...", strings.Join(brokers, ", ")) }
	return cfg, k, NodeFailure(err)
}

// clusterConfig returns the configuration of Cluster, and the settings of the server; nil if no
// server was asked.
func clusterConfig(ctx context.Context, a *cli.App) (*config.Config, *weirpb.GetClusterResponse, error) {
	if !a.NamesServer() {
		cfg, err := a.LoadConfig()
		return cfg, nil, err
	}
	own, err := a.LoadConfigOf(config.Options{Without: "leases"}) // which may need the answer to be valid
	if err != nil {
		return nil, nil, err
	}
	if entryOf(own, brokersKey).Origin != config.OriginDefault {
		cfg, err := a.LoadConfig()
		return cfg, nil, err
	}
	server, theirs, err := askServer(ctx, a)
	if err != nil {
		return nil, nil, cli.Fail(0, "cannot ask the server for its brokers", err,
			"check --server and WEIR_SERVER, or set --brokers: then no server is asked")
	}
	if err := CheckNamedBrokers(a, own, theirs.GetBrokers()); err != nil {
		return nil, nil, err
	}
	cfg, err := serverConfig(a, server, theirs, clusterSettings)
	return cfg, theirs, err
}

// StatePartitions returns the number of partitions of the state of the spend counter of a
// datacentre with layout l; 0 if no spend counter has run.
func StatePartitions(ctx context.Context, k kafka.Cluster, l events.Layout, dc string) (int32, error) {
	n, err := kafkaadmin.StatePartitions(ctx, k,
		&stream.Processor{App: l.Name(spendcounter.App), Changelog: l.Name(events.SpendTopic(dc)), Partitions: l.Partitions()})
	return n, TopicFailure(cli.ExitUnavailable, "cannot read the partitions of the state", err)
}

// Partitions returns the number of partitions that a topic has.
func Partitions(ctx context.Context, k kafka.Cluster, topic string) (int32, error) {
	ends, err := kafka.EndOffsets(ctx, k, topic)
	if err != nil {
		if f := refusal("cannot read the partitions of topic "+topic, err); f != nil {
			return 0, f
		}
		return 0, cli.Fail(cli.ExitUnavailable, "cannot read the partitions of topic "+topic, err,
			"check --brokers and spend.generation; `weir topics plan` shows what is missing")
	}
	return int32(len(ends[topic])), nil
}
