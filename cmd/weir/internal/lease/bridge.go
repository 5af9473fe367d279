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
	c := &cobra.Command{Use: "bridge", Short: "Request scans of the lease table, and list rejected stream records"}
	c.AddCommand(newBridgeScanCmd(a), newBridgeRejectedCmd(a))
	return c
}

func newBridgeScanCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "scan REGION...",
		Short: "Request that the bridges of regions read all rows of the lease table once",
		Long: "Request that the bridges of regions read all rows of the lease table once, for example after a\n" +
			"stream lost records. Rows that are known already change nothing. The bridge of the region scans. If\n" +
			"it does not run, the scan begins when it starts.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, k, err := connect.LeaseCluster(cmd.Context(), a)
			if err != nil {
				return err
			}
			regions, _ := cfg.Leases.RegionEndpoints()
			for _, r := range args {
				if !slices.Contains(regions, r) {
					return cli.UsageError("no region is called "+r, "leases.regions has "+strings.Join(regions, ", "))
				}
			}
			if err := requestScans(cmd.Context(), k, regions, args); err != nil {
				return cli.Fail(cli.ExitUnavailable, "cannot request the scan", err, leaseTopicsRemedy)
			}
			a.Notef("requested a scan of %s; when a scan ends, `weir status` has a line of kind scan with the number of rows",
				strings.Join(args, ", "))
			return nil
		},
	}
	connect.LeaseFlags(a, c.Flags())
	return c
}

// scanRequestTimeout bounds the time in which brokers accept the requests.
const scanRequestTimeout = 10 * time.Second

// requestScans sends a request for a scan to the bridge of each region in of.
func requestScans(ctx context.Context, k kafka.Cluster, regions, of []string) error {
	if err := k.Reach(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, scanRequestTimeout,
		fmt.Errorf("no broker accepted the request within %s", scanRequestTimeout))
	defer cancel()
	p, err := kafka.NewProducer(k, events.LeaseBridgeTopic)
	if err != nil {
		return err
	}
	defer p.Close()
	for _, r := range of {
		if err := p.Produce(ctx, int32(slices.Index(regions, r)), []byte(r), []byte(bridge.ControlScan)); err != nil {
			return err
		}
	}
	if err := p.Flush(ctx); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// rejectRow is a stream record that does not match the schema of the lease table.
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
		Short: "List stream records that do not match the schema, such as rows edited by hand",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, k, err := connect.LeaseCluster(cmd.Context(), a)
			if err != nil {
				return err
			}
			rows := []rejectRow{}
			err = kafkaadmin.ReadTopic(cmd.Context(), k, events.LeaseRejectedTopic, time.Now().Add(-since),
				func(_ int32, r stream.Record) error {
					var v eventspb.LeaseReject
					if err := proto.Unmarshal(r.Value, &v); err != nil {
						return err
					}
					rows = append(rows, rejectRow{
						time.UnixMilli(v.AtMs).UTC(), v.Region, v.Reason, v.Detail, v.PartitionKey, v.SortKey, v.Shard, v.Sequence,
						v.Record,
					})
					return nil
				})
			if err != nil {
				return cli.Fail(cli.ExitUnavailable, "cannot read the rejected records", err, leaseTopicsRemedy)
			}
			slices.SortStableFunc(rows, func(x, y rejectRow) int { return x.Time.Compare(y.Time) })
			return cli.PrintRows(a, rows)
		},
	}
	c.Flags().DurationVar(&since, "since", 24*time.Hour, "maximum age of the records")
	return c
}
