package mirror

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/mirror"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
)

// Commands returns `weir mirror`.
func Commands(a *cli.App) []*cobra.Command {
	c := &cobra.Command{Use: "mirror", Short: "Show what is copied of other datacentres, and let a stopped copy continue"}
	c.AddCommand(newStatusCmd(a), newSkipCmd(a))
	return []*cobra.Command{c}
}

// deployment is the mirror of this datacentre: its configuration, and how to ask its processes.
type deployment struct {
	mirror.Config
	kafka  kafka.Cluster
	access node.Access
}

// connectMirror returns the mirror of the configuration, or of the server that flags name.
func connectMirror(ctx context.Context, a *cli.App) (d deployment, err error) {
	var cfg *config.Config
	if cfg, d.kafka, err = connect.Cluster(ctx, a); err != nil {
		return d, err
	}
	if d.Config = node.MirrorConfig(cfg); len(d.Peers) == 0 {
		return d, cli.Fail(cli.ExitConfig, "no mirror is configured", errors.New("the setting dcs names no other datacentre to copy from"),
			"set dcs to all datacentres, or give --server a process whose configuration has them")
	}
	if d.access, err = node.NewAccess(cfg); err != nil {
		return d, connect.NodeFailure(err)
	}
	return d, nil
}

// task is a task of the mirror, as its process reports it.
type task struct{ *weirpb.Partition }

// copyOf returns the copying of a topic of a datacentre, nil if the process does not report it.
func (t task) copyOf(dc, topic string) *weirpb.CopyStatus {
	for _, c := range t.GetCopies() {
		if c.GetDc() == dc && c.GetTopic() == topic {
			return c
		}
	}
	return nil
}

// tasks asks the processes of the mirror for its tasks, by partition. Partitions that no answering
// process owns are missing. The error is that of the brokers, or of the last process if none
// answers.
func (d deployment) tasks(ctx context.Context) (map[int32]task, error) {
	var members []processors.Member
	err := kafka.Retry(ctx, d.kafka, kafka.FailoverTimeout, func() (err error) {
		members, err = processors.Members(ctx, d.kafka, d.App)
		return err
	})
	if err != nil {
		return nil, connect.TopicFailure(cli.ExitUnavailable, "cannot find the processes of "+d.App, err)
	}
	asked := connect.NewTasks(d.access)
	if _, err := asked.Of(ctx, members); err != nil {
		return nil, cli.Fail(cli.ExitUnavailable, "no process of "+d.App+" answers", err,
			"check api.advertise, and the certificates and the token of the processes")
	}
	list := map[int32]task{}
	for _, p := range asked.Known(d.App) {
		if p.GetState() != api.StateStandby && p.GetInstance() != "" {
			list[p.GetPartition()] = task{p}
		}
	}
	return list, nil
}
