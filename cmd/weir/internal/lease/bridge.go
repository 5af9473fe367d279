package lease

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/bridge"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

// newBridgeCmd returns `weir bridge`.
func newBridgeCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "bridge", Short: "Shows what the streams had that is not of weir, and has bridges read the table again"}
	c.AddCommand(newBridgeScanCmd(a), newBridgeRejectedCmd(a))
	return c
}

func newBridgeScanCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "scan REGION...",
		Short: "Has bridges read the rows of their regions once, as after a stream that lost records",
		Long: "Has bridges read the rows of their regions once, as after a stream that lost records. What is known already comes again and changes\n" +
			"nothing. It is done by the process that has the bridge, now or when there is one.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, k, err := connect.Cluster(a)
			if err != nil {
				return err
			}
			regions, _ := cfg.Leases.RegionEndpoints()
			for _, r := range args {
				if !slices.Contains(regions, r) {
					return cli.UsageError("no region is called "+r, "see leases.regions")
				}
			}
			if err := askScans(cmd.Context(), k, regions, args); err != nil {
				return cli.Fail(cli.ExitUnavailable, "cannot ask for the scan", err, "check --brokers; `weir topics plan --for leases` shows what is missing")
			}
			a.Notef("asked the bridge of %s to read all rows of its region; once it has, `weir status` has a line of kind scan with how many", strings.Join(args, ", that of "))
			return nil
		},
	}
	connect.LeaseFlags(a, c.Flags())
	return c
}

// askTime is how long brokers have to take a request for a scan.
const askTime = 10 * time.Second

func askScans(ctx context.Context, k kafka.Cluster, regions, of []string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, askTime, fmt.Errorf("no broker has taken it within %s", askTime))
	defer cancel()
	p, err := kafka.NewProducer(k, events.LeaseBridgeTopic)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, r := range of {
		if err := p.Produce(ctx, int32(slices.Index(regions, r)), []byte(r), []byte(bridge.Scan)); err != nil {
			return err
		}
	}
	if err := p.Flush(ctx); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// rejectRow is a record of a stream that is not of weir's schema.
type rejectRow struct {
	Time         time.Time `json:"time"`
	Region       string    `json:"region"`
	Reason       string    `json:"reason"`
	Detail       string    `json:"detail"`
	PartitionKey string    `json:"partition_key"`
	SortKey      string    `json:"sort_key"`
	Shard        string    `json:"shard" table:"wide"`
	Sequence     string    `json:"sequence" table:"wide"`
	Record       string    `json:"record" table:"-"`
}

func newBridgeRejectedCmd(a *cli.App) *cobra.Command {
	var since time.Duration
	c := &cobra.Command{
		Use:   "rejected",
		Short: "Lists records of the streams that are not of weir's schema, such as rows that were edited by hand",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, k, err := connect.Cluster(a)
			if err != nil {
				return err
			}
			rows := []rejectRow{}
			err = kafkaadmin.Read(cmd.Context(), k, events.LeaseRejectedTopic, time.Now().Add(-since), func(_ int32, r stream.Record) error {
				var v eventspb.LeaseReject
				if err := proto.Unmarshal(r.Value, &v); err != nil {
					return err
				}
				rows = append(rows, rejectRow{time.UnixMilli(v.AtMs).UTC(), v.Region, v.Reason, v.Detail, v.PartitionKey, v.SortKey, v.Shard, v.Sequence, v.Record})
				return nil
			})
			if err != nil {
				return cli.Fail(cli.ExitUnavailable, "cannot read what was rejected", err, "check --brokers; `weir topics plan --for leases` shows what is missing")
			}
			slices.SortStableFunc(rows, func(x, y rejectRow) int { return x.Time.Compare(y.Time) })
			return cli.PrintRows(a, rows)
		},
	}
	c.Flags().DurationVar(&since, "since", 24*time.Hour, "how long ago it may have been")
	return c
}
