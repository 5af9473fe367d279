// Package push has the command about the totals that this datacentre writes into others: weir push
// status.
package push

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/push"
)

// Commands returns `weir push`.
func Commands(a *cli.App) []*cobra.Command {
	c := &cobra.Command{Use: "push", Short: "Show what is written of the totals into other datacentres"}
	c.AddCommand(newStatusCmd(a))
	return []*cobra.Command{c}
}

// deployment is the push of this datacentre, and how to ask its processes.
type deployment struct {
	config *config.Config
	kafka  kafka.Cluster
	access node.Access
}

// connectPush returns the push of the configuration, or of the server that flags name.
func connectPush(ctx context.Context, a *cli.App) (d deployment, err error) {
	if d.config, d.kafka, err = connect.Cluster(ctx, a); err != nil {
		return d, err
	}
	if len(d.config.PushTargets()) == 0 {
		return d, cli.Fail(cli.ExitConfig, "nothing is written into other datacentres", errors.New("dcs has no other datacentre"),
			"list all datacentres in dcs, or name a process of a server that has them")
	}
	if d.access, err = node.NewAccess(d.config); err != nil {
		return d, connect.NodeFailure(err)
	}
	return d, nil
}

// target is a datacentre into which this one writes, and what its processes report.
type target struct {
	push.Config
	tasks map[int32]*weirpb.Partition // by partition; those that no answering process owns are missing
	err   error                       // why its brokers did not tell the processes
}

// membersTimeout bounds the question to the brokers of one target for the processes.
const membersTimeout = 5 * time.Second

// targets asks the processes of each target for their tasks. The processes of a push are members of
// a group in the target's Kafka; while that does not answer, the other processes of this datacentre
// are asked, which often run the push, too.
func (d deployment) targets(ctx context.Context) []target {
	dcs := d.config.PushTargets()
	list, members := make([]target, len(dcs)), make([][]processors.Member, len(dcs)+1)
	var asking sync.WaitGroup
	for n, dc := range dcs {
		list[n].Config = node.PushConfig(d.config, d.config.DC, dc.Name)
		asking.Go(func() {
			k, err := node.PeerKafka(dc)
			if err == nil {
				members[n], err = membersOf(ctx, k, list[n].App)
			}
			list[n].err = err
		})
	}
	asking.Go(func() { // without an answer, tasks of targets that do not answer are missing
		members[len(dcs)], _ = membersOf(ctx, d.kafka, node.SpendCounter(d.config).App())
	})
	asking.Wait()
	asked := connect.NewTasks(d.access)
	for n, some := range members {
		if _, err := asked.Of(ctx, some); err != nil && n < len(dcs) && list[n].err == nil {
			list[n].err = err
		}
	}
	for n := range list {
		list[n].tasks = map[int32]*weirpb.Partition{}
		for _, p := range asked.Known(list[n].App) {
			if p.GetState() != api.StateStandby && p.GetInstance() != "" {
				list[n].tasks[p.GetPartition()] = p
			}
		}
	}
	return list
}

func membersOf(ctx context.Context, k kafka.Cluster, app string) ([]processors.Member, error) {
	ctx, cancel := context.WithTimeout(ctx, membersTimeout)
	defer cancel()
	return processors.Members(ctx, k, app)
}
