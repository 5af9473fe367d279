package topics

import (
	"math"
	"slices"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// lagRow is a partition of an input topic: figures of the brokers, then figures of the processes.
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
	Process        string   `json:"process"` // that owns the partition; empty if none does
	Member         string   `json:"member" table:"wide"`
	Host           string   `json:"host" table:"wide"`
	Group          string   `json:"group"`           // the group's state
	Task           string   `json:"task"`            // running, restoring, stopped...; empty: the process does not answer
	Standbys       []string `json:"standbys"`        // processes with a standby of the partition
	RestoreRecords int64    `json:"restore_records"` // left to read from the changelog
	RestoreSeconds float64  `json:"restore_seconds"` // left at the present speed
	Reason         string   `json:"reason"`          // why the partition is not running
}

func newLagCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:   "lag",
		Short: "Show the lag of the spend counter by partition, and the processes that own partitions",
		Long: "Show the lag of the spend counter by partition: the number of records that are not counted, and the\n" +
			"age of the oldest. Processes that answer add the state of their partitions: running, restoring\n" +
			"(with the rest of the restore) or standby.\n\n" +
			"While a broker of several is away it tries again for up to 20 s.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, k, err := connect.Cluster(a)
			if err != nil {
				return err
			}
			proc, err := node.SpendCounter(cfg).Processor()
			if err != nil {
				return err
			}
			x, err := node.NewAccess(cfg)
			if err != nil {
				return connect.NodeFailure(err)
			}
			ctx := cmd.Context()
			var list []kafkaadmin.PartitionLag
			var members []processors.Member
			err = kafka.Retry(ctx, k, kafka.FailoverTimeout, func() error {
				list, err = kafkaadmin.Lag(ctx, k, proc.App, proc.Inputs)
				return err
			})
			if err != nil {
				return connect.TopicFailure(cli.ExitUnavailable, "cannot read the lag", err)
			}
			err = kafka.Retry(ctx, k, kafka.FailoverTimeout, func() error {
				members, err = processors.Members(ctx, k, proc.App)
				return err
			})
			if err != nil {
				a.Notef("without the processes, which are not known: %v", err)
			}
			tasks, _ := connect.Tasks(ctx, x, members) // without an answer the rows have the brokers' figures
			return cli.PrintRows(a, lagRows(list, members, tasks))
		},
	}
}

// lagRows joins the figures of the brokers with those of the processes.
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
