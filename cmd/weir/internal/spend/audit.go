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
	Counter     string  `json:"counter"` // datacentre
	Origin      string  `json:"origin"`
	Minutes     int     `json:"minutes"` // that were compared, over all shards
	Events      uint64  `json:"events"`
	Lost        uint64  `json:"lost"`
	Rejected    uint64  `json:"rejected"`
	From        string  `json:"from" table:"wide"` // empty without a record
	Through     string  `json:"through"`
	Behind      float64 `json:"behind_minutes"` // greatest of a shard, against the counter that is farthest
	Shards      int     `json:"shards" table:"wide"`
	Missing     int     `json:"missing_shards"` // of which the counter has no record, and another one has
	Differences int     `json:"differences"`    // in which the counter has not the figures of the origin's own
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
	var p auditPrinter
	c := &cobra.Command{
		Use:   "audit",
		Short: "Compare what the spend counters of all datacentres have counted, minute by minute of each origin",
		Long: "Compare what the spend counters of all datacentres (dcs) have counted of the events that each\n" +
			"datacentre took. A counter writes the number of events, the sum of their prices and a digest of\n" +
			"their ids for each minute to the topic spend.audit. Counters that lack nothing have the same\n" +
			"figures.\n\n" +
			"A row is a counter and an origin: the minutes that it has in common with other counters, over all\n" +
			"shards, the events in them, the records of which no copy arrived, and the end of the last minute of\n" +
			"the shard that is farthest behind. --differences has a row for each counter and range of minutes\n" +
			"in which counters differ, the earliest first, with the offsets at the origin.\n\n" +
			"The command ends with code 1 if counters differ, if one has no record of a shard within --since that\n" +
			"another one has, or if one is behind by more than --max-behind. It ends with code 69 if a datacentre\n" +
			"does not answer.",
		Example: "  weir spend audit\n  weir spend audit --since 168h --differences -o csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, own, err := connect.Cluster(cmd.Context(), a)
			if err != nil {
				return err
			}
			for _, dc := range origins {
				if err := connect.KnownDatacentre("--origin", dc, "datacentre", append([]string{cfg.DC}, cfg.PeerNames()...)); err != nil {
					return err
				}
			}
			ctx, cancel := context.WithTimeoutCause(cmd.Context(), wait, fmt.Errorf("the topic was not read within %s (--wait)", wait))
			defer cancel()
			audit := spendaudit.Audit{}
			of := kafkaadmin.TopicRange{Topic: node.SpendCounter(cfg).Layout.Name(events.AuditTopic), Since: time.Now().Add(-since)}
			read, away := readAudits(ctx, auditClusters(cfg, own), of, func(m *eventspb.SpendAudit) {
				if len(origins) == 0 || slices.Contains(origins, m.GetOrigin()) {
					audit.Add(m)
				}
			})
			p.a, p.failed = a, away
			return p.print(audit.Report(read...))
		},
	}
	c.Flags().DurationVar(&since, "since", 24*time.Hour, "maximum age of the records of spend.audit")
	c.Flags().StringSliceVar(&origins, "origin", nil, "datacentres that took the events (default: all)")
	c.Flags().BoolVar(&p.differences, "differences", false, "list the differences, in place of what was compared")
	c.Flags().DurationVar(&p.maxBehind, "max-behind", 10*time.Minute, "greatest time by which a counter may be behind another one")
	c.Flags().DurationVar(&wait, "wait", 2*time.Minute, "how long to read, and to wait for a datacentre that does not answer")
	return c
}

// auditCluster is the Kafka of a datacentre, or why it is not known.
type auditCluster struct {
	dc    string
	kafka kafka.Cluster
	err   error
}

// auditClusters returns the Kafka of this datacentre and of all others.
func auditClusters(cfg *config.Config, own kafka.Cluster) []auditCluster {
	list := []auditCluster{{dc: cfg.DC, kafka: own}}
	for _, d := range cfg.Peers() {
		c := auditCluster{dc: d.Name}
		if c.kafka, c.err = node.PeerKafka(d); len(d.Brokers) == 0 {
			c.err = errors.New("the brokers are not known")
		}
		list = append(list, c)
	}
	return list
}

// unread is a datacentre whose topic could not be read to its end.
type unread struct {
	dc  string
	own bool
	err error
}

// failure returns the error with its remedy.
func (f *unread) failure() error {
	what := "cannot read the audit of " + f.dc
	if f.own {
		return connect.TopicFailure(cli.ExitUnavailable, what, f.err)
	}
	return cli.Fail(cli.ExitUnavailable, what, f.err, "check the brokers, TLS and SASL of "+f.dc+
		" in dcs, and the right to read and describe spend.audit there. Of a server only the brokers are known: with TLS or SASL, "+
		"name the configuration file (-f)")
}

// readAudits reads the topics of all datacentres at once, and returns which it has read to their
// end. The first one is that of the process.
func readAudits(
	ctx context.Context, clusters []auditCluster, of kafkaadmin.TopicRange, fn func(*eventspb.SpendAudit),
) (read []string, failed []unread) {
	var mu sync.Mutex
	var reads sync.WaitGroup
	for i, c := range clusters {
		reads.Go(func() {
			err := c.read(ctx, of, func(m *eventspb.SpendAudit) {
				mu.Lock()
				defer mu.Unlock()
				fn(m)
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				read = append(read, c.dc)
			} else {
				failed = append(failed, unread{c.dc, i == 0, err})
			}
		})
	}
	reads.Wait()
	slices.SortFunc(failed, func(x, y unread) int { return strings.Compare(x.dc, y.dc) })
	return read, failed
}

// read gives the records of a range of its topic to fn.
func (c *auditCluster) read(ctx context.Context, of kafkaadmin.TopicRange, fn func(*eventspb.SpendAudit)) error {
	if c.err != nil {
		return c.err
	}
	m := &eventspb.SpendAudit{}
	err := kafkaadmin.ReadPartitions(ctx, c.kafka, of, func(partition int32, r stream.Record) error {
		if err := proto.Unmarshal(r.Value, m); err != nil {
			return fmt.Errorf("%s/%d, offset %d, is not a SpendAudit: %w", of.Topic, partition, r.Offset, err)
		}
		fn(m)
		return nil
	})
	if cause := context.Cause(ctx); cause != nil && errors.Is(err, ctx.Err()) {
		return cause
	}
	return err
}

// auditPrinter prints a report.
type auditPrinter struct {
	a           *cli.App
	failed      []unread
	differences bool
	maxBehind   time.Duration
}

// print prints a report. The error reports that counters differ or lack minutes, or that a
// datacentre was not read.
func (p *auditPrinter) print(r *spendaudit.Report) error {
	for _, f := range p.failed {
		p.a.Notef("the records of %s are incomplete in the comparison: %v", f.dc, f.err)
	}
	var err error
	if p.differences {
		err = cli.PrintRows(p.a, differenceRows(r.Differences))
	} else {
		err = cli.PrintRows(p.a, coverageRows(r.Coverage))
	}
	switch {
	case err != nil:
		return err
	case len(r.Differences) > 0:
		return &cli.Failure{
			Code: cli.ExitFailed, What: fmt.Sprintf("ranges in which the counters differ: %d", len(r.Differences)),
			Why: "the first is " + describe(&r.Differences[0]),
			Do: "`weir spend audit --differences` lists all; `weir mirror status` shows copies that stopped, and " +
				"`weir state scan --app mirror --table skips` what was skipped",
		}
	}
	if why := p.incomplete(r); why != "" {
		return &cli.Failure{
			Code: cli.ExitFailed, What: "not all minutes were compared", Why: why,
			Do: "`weir lag` and `weir mirror status`, in that datacentre, show what the counter and the mirror wait for",
		}
	}
	if len(p.failed) > 0 {
		return p.failed[0].failure()
	}
	if !slices.ContainsFunc(r.Coverage, func(c spendaudit.Coverage) bool { return c.Minutes > 0 }) {
		p.a.Notef("no minute was compared: a minute is compared after its end, among two or more datacentres (dcs), " +
			"and the first two minutes of a counter are not")
	}
	return nil
}

// incomplete describes the first counter that lacks minutes which another one has.
func (p *auditPrinter) incomplete(r *spendaudit.Report) string {
	for _, c := range r.Coverage {
		if c.Missing > 0 {
			return fmt.Sprintf("the counter of %s has no record of the events that %s took in %d shards, and another counter has",
				c.DC, c.Origin, c.Missing)
		}
		if behind := time.Duration(c.BehindMs) * time.Millisecond; behind > p.maxBehind {
			return fmt.Sprintf("the counter of %s ends %s before another one with the events that %s took (--max-behind %s)", c.DC, behind,
				c.Origin, p.maxBehind)
		}
	}
	return ""
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
			Behind: float64(c.BehindMs) / 60_000, Shards: c.Shards, Missing: c.Missing, Differences: c.Differs,
		}
		if c.Shards > 0 {
			rows[i].From = time.UnixMilli(c.FromMs).UTC().Format(time.RFC3339)
			rows[i].Through = time.UnixMilli(c.ThroughMs).UTC().Format(time.RFC3339)
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
