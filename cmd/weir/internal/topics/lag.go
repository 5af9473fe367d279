package topics

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// lagRow is one partition of one input: what the brokers say of it, and then what the processes say.
type lagRow struct {
	Topic          string   `json:"topic"`
	Partition      int32    `json:"partition"`
	Start          int64    `json:"start" table:"wide"`
	Committed      int64    `json:"committed"`
	Stable         int64    `json:"stable" table:"wide"`
	High           int64    `json:"high" table:"wide"`
	Lag            int64    `json:"lag"`
	LagSeconds     float64  `json:"lag_seconds"`
	Lost           int64    `json:"lost"`
	Process        string   `json:"process"` // that folds it; empty if none
	Member         string   `json:"member" table:"wide"`
	Host           string   `json:"host" table:"wide"`
	Group          string   `json:"group"`           // the group's state
	Task           string   `json:"task"`            // running, restoring, stopped...; empty: its process does not answer
	Standbys       []string `json:"standbys"`        // processes that keep it warm
	RestoreRecords int64    `json:"restore_records"` // left to read from the changelog
	RestoreSeconds float64  `json:"restore_seconds"` // left at the speed so far
	Reason         string   `json:"reason"`          // why it does not run
}

func newLagCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "lag",
		Short: "Shows how far the spend counter is behind its inputs, by partition, and who works on it",
		Long: "Shows how far the spend counter is behind its inputs, by partition: records, and the age of the oldest that is not counted.\n" +
			"Processes that answer add what they are at: which partitions run, restore (with what is left) or are kept warm.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, k, err := connect.Cluster(a)
			if err != nil {
				return err
			}
			proc, err := node.SpendRole(cfg).Processor()
			if err != nil {
				return err
			}
			x, err := node.NewAccess(cfg)
			if err != nil {
				return connect.NodeFailure(err)
			}
			list, err := kafkaadmin.Lag(cmd.Context(), k, proc.App, proc.Inputs)
			if err != nil {
				return cli.Fail(cli.ExitUnavailable, "cannot read the lag", err, "check --brokers; `weir doctor` looks closer")
			}
			members, err := processors.Members(cmd.Context(), k, proc.App)
			if err != nil {
				return cli.Fail(cli.ExitUnavailable, "cannot ask who works", err, "check --brokers; `weir doctor` looks closer")
			}
			return cli.PrintRows(a, lagRows(list, members, atWork(cmd.Context(), x, members)))
		},
	}
}

// atWork is what the processes say of their partitions; those of the first that answers, which has asked the others.
func atWork(ctx context.Context, x node.Access, members []processors.Member) []*weirpb.Partition {
	asked := map[string]bool{"": true}
	for _, m := range members {
		if asked[m.Endpoint] {
			continue
		}
		asked[m.Endpoint] = true
		c := x.Client(m.Endpoint)
		tctx, cancel := context.WithTimeout(ctx, 3*time.Second)
		res, err := c.ListPartitions(tctx)
		cancel()
		c.Close()
		if err == nil {
			return res.GetPartitions()
		}
	}
	return nil
}

// lagRows joins what brokers and processes say.
func lagRows(list []kafkaadmin.PartitionLag, members []processors.Member, tasks []*weirpb.Partition) []lagRow {
	rows := make([]lagRow, 0, len(list))
	for _, l := range list {
		r := lagRow{
			Topic: l.Topic, Partition: l.Partition, Start: l.Start, Committed: l.Committed, Stable: l.LastStable, High: l.HighWatermark, Lag: l.Lag,
			LagSeconds: l.LagSeconds, Lost: l.Lost, Member: l.Member, Host: l.Host, Group: l.State,
		}
		for _, m := range members {
			if m.ID == l.Member {
				r.Process = m.Instance
			}
			if slices.Contains(m.Standbys, l.Partition) {
				r.Standbys = append(r.Standbys, m.Instance)
			}
		}
		for _, t := range tasks {
			if t.GetPartition() != l.Partition || t.GetState() == api.StateStandby {
				continue
			}
			r.Task, r.Reason = t.GetState(), t.GetReason()
			r.RestoreRecords, r.RestoreSeconds = t.GetRestore().GetRecords(), math.Round(100*(float64(t.GetRestore().GetEtaMs())/1000))/100
		}
		rows = append(rows, r)
	}
	return rows
}
