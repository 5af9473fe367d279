package spend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/spendcounter/spendaudit"
	"github.com/weirhq/weir/stream"
)

// coverageRow is how much of the events of an origin the counter of a datacentre has in common with
// the other counters.
type coverageRow struct {
	Counter     string    `json:"counter"` // datacentre
	Origin      string    `json:"origin"`
	Minutes     int       `json:"minutes"` // that were compared, over all shards
	Events      uint64    `json:"events"`
	Lost        uint64    `json:"lost"`
	Rejected    uint64    `json:"rejected"`
	From        time.Time `json:"from" table:"wide"`
	Through     time.Time `json:"through"`
	Shards      int       `json:"shards" table:"wide"`
	Differences int       `json:"differences"`
}

// differenceRow is what one counter has of a range in which counters differ.
type differenceRow struct {
	Shard       int32     `json:"shard"`
	Origin      string    `json:"origin"`
	From        time.Time `json:"from"`
	To          time.Time `json:"to"`
	FirstOffset int64     `json:"first_offset"`
	NextOffset  int64     `json:"next_offset"`
	Counter     string    `json:"counter"` // datacentre
	Events      uint64    `json:"events"`
	Micros      uint64    `json:"micros"`
	Lost        uint64    `json:"lost"`
	Rejected    uint64    `json:"rejected"`
	Digest      string    `json:"digest" table:"wide"`
}

func newSpendAuditCmd(a *cli.App) *cobra.Command {
	var since, wait time.Duration
	var origins []string
	var differences bool
	c := &cobra.Command{
		Use:   "audit",
		Short: "Compare what the spend counters of all datacentres have counted, minute by minute of each origin",
		Long: "Compare what the spend counters of all datacentres (dcs) have counted of the events that each\n" +
			"datacentre took. A counter writes the number of events, the sum of their prices and a digest of\n" +
			"their ids for each minute to the topic spend.audit. Counters that lack nothing have the same figures.\n\n" +
			"A row is a counter and an origin: the minutes that it has in common with other counters, over all\n" +
			"shards, the events in them, the records of which no copy arrived, and the end of the last minute of\n" +
			"the shard that is farthest behind. --differences has a row for each counter and range of minutes\n" +
			"in which counters differ, the earliest first, with the offsets at the origin.\n\n" +
			"The command ends with code 1 if counters differ, and with code 69 if a datacentre does not answer.",
		Example: "  weir spend audit\n  weir spend audit --since 168h --differences -o csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, own, err := connect.Cluster(cmd.Context(), a)
			if err != nil {
				return err
			}
			clusters, err := auditClusters(cfg, own)
			if err != nil {
				return err
			}
			if err := knownOrigins(cfg, origins); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), wait, fmt.Errorf("the topic was not read within %s (--wait)", wait))
			defer cancel()
			list, away := readAudits(ctx, clusters, node.SpendCounter(cfg).Layout.Name(events.AuditTopic), time.Now().Add(-since))
			audit := spendaudit.Audit{}
			for _, m := range list {
				if len(origins) == 0 || slices.Contains(origins, m.GetOrigin()) {
					audit.Add(m)
				}
			}
			return printAudit(a, audit.Report(), away, differences)
		},
	}
	c.Flags().DurationVar(&since, "since", 24*time.Hour, "maximum age of the records of spend.audit")
	c.Flags().StringSliceVar(&origins, "origin", nil, "datacentres that took the events (default: all)")
	c.Flags().BoolVar(&differences, "differences", false, "list the differences, in place of what was compared")
	c.Flags().DurationVar(&wait, "wait", time.Minute, "how long to read, and to wait for a datacentre that does not answer")
	return c
}

// auditCluster is the Kafka of a datacentre.
type auditCluster struct {
	dc    string
	kafka kafka.Cluster
}

// auditClusters returns the Kafka of this datacentre and of all others.
func auditClusters(cfg *config.Config, own kafka.Cluster) ([]auditCluster, error) {
	list := []auditCluster{{cfg.DC, own}}
	for _, d := range cfg.Peers() {
		k, err := node.PeerKafka(d)
		if err != nil {
			return nil, connect.NodeFailure(err)
		}
		list = append(list, auditCluster{d.Name, k})
	}
	return list, nil
}

// knownOrigins returns a usage error for a datacentre that is not configured.
func knownOrigins(cfg *config.Config, origins []string) error {
	known := append([]string{cfg.DC}, cfg.PeerNames()...)
	for _, dc := range origins {
		if slices.Contains(known, dc) {
			continue
		}
		do := "the datacentres are: " + strings.Join(known, ", ")
		if n, ok := config.Nearest(dc, known); ok {
			do = "did you mean " + n + "?"
		}
		return cli.UsageError(fmt.Sprintf("--origin: no datacentre is called %q", dc), do)
	}
	return nil
}

// away is a datacentre whose topic could not be read.
type away struct {
	dc  string
	err error
}

// readAudits reads the topics of all datacentres at once.
func readAudits(ctx context.Context, clusters []auditCluster, topic string, since time.Time) (list []*eventspb.SpendAudit, failed []away) {
	var mu sync.Mutex
	var reads sync.WaitGroup
	for _, c := range clusters {
		reads.Go(func() {
			err := kafkaadmin.ReadTopic(ctx, c.kafka, topic, since, func(partition int32, r stream.Record) error {
				m := &eventspb.SpendAudit{}
				if err := proto.Unmarshal(r.Value, m); err != nil {
					return fmt.Errorf("%s/%d, offset %d, is not a SpendAudit: %w", topic, partition, r.Offset, err)
				}
				mu.Lock()
				defer mu.Unlock()
				list = append(list, m)
				return nil
			})
			if err == nil {
				return
			}
			if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
				err = cause
			}
			mu.Lock()
			defer mu.Unlock()
			failed = append(failed, away{c.dc, err})
		})
	}
	reads.Wait()
	slices.SortFunc(failed, func(x, y away) int { return strings.Compare(x.dc, y.dc) })
	return list, failed
}

// printAudit prints a report. The error reports that counters differ, or that a datacentre is
// missing.
func printAudit(a *cli.App, r *spendaudit.Report, failed []away, differences bool) error {
	for _, f := range failed {
		a.Notef("the records of %s are missing in the comparison: %v", f.dc, f.err)
	}
	var err error
	if differences {
		err = cli.PrintRows(a, differenceRows(r.Differences))
	} else {
		err = cli.PrintRows(a, coverageRows(r.Coverage))
	}
	switch {
	case err != nil:
		return err
	case len(r.Differences) > 0:
		return &cli.Failure{
			Code: cli.ExitFailed, What: fmt.Sprintf("ranges in which the counters differ: %d", len(r.Differences)),
			Why: "the first is " + describe(&r.Differences[0]),
			Do:  "`weir spend audit --differences` lists all; `weir mirror status` shows copies that stopped, and `weir state scan --app mirror --table skips` what was skipped",
		}
	case len(failed) > 0:
		return connect.TopicFailure(cli.ExitUnavailable, "cannot read the audit of "+failed[0].dc, failed[0].err)
	}
	compared := false
	for _, c := range r.Coverage {
		compared = compared || c.Minutes > 0
	}
	if !compared {
		a.Notef("no minute was compared: a minute is compared after its end, among two or more datacentres (dcs), " +
			"and the first minute of a counter is not")
	}
	return nil
}

// describe returns a difference in a sentence.
func describe(d *spendaudit.Difference) string {
	const layout = "2006-01-02 15:04"
	text := fmt.Sprintf("shard %d, events that %s took from %s to %s UTC, offsets %d to %d:", d.Shard, d.Origin,
		time.UnixMilli(d.FromMs).UTC().Format(layout), time.UnixMilli(d.ToMs).UTC().Format("15:04"), d.FirstOffset, d.NextOffset-1)
	for i, s := range d.Sides {
		if i > 0 {
			text += ";"
		}
		text += fmt.Sprintf(" the counter of %s has %d events of %d micros", s.DC, s.Events, s.Micros)
		if s.Lost > 0 {
			text += fmt.Sprintf(" and has lost %d records", s.Lost)
		}
	}
	return text
}

func coverageRows(list []spendaudit.Coverage) []coverageRow {
	rows := make([]coverageRow, len(list))
	for i, c := range list {
		rows[i] = coverageRow{
			Counter: c.DC, Origin: c.Origin, Minutes: c.Minutes, Events: c.Events, Lost: c.Lost, Rejected: c.Rejected,
			From: time.UnixMilli(c.FromMs).UTC(), Through: time.UnixMilli(c.ThroughMs).UTC(), Shards: c.Shards, Differences: c.Differs,
		}
	}
	return rows
}

func differenceRows(list []spendaudit.Difference) (rows []differenceRow) {
	for _, d := range list {
		for _, s := range d.Sides {
			rows = append(rows, differenceRow{
				Shard: d.Shard, Origin: d.Origin, From: time.UnixMilli(d.FromMs).UTC(), To: time.UnixMilli(d.ToMs).UTC(),
				FirstOffset: d.FirstOffset, NextOffset: d.NextOffset,
				Counter: s.DC, Events: s.Events, Micros: s.Micros, Lost: s.Lost, Rejected: s.Rejected,
				Digest: fmt.Sprintf("%016x", s.Digest),
			})
		}
	}
	return rows
}
