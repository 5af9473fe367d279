package lease

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/lease/status"
)

// Values of --from.
const (
	fromAuto    = "auto"
	fromKafka   = "kafka"
	fromStreams = "streams"
)

// leaseHistory is `weir lease history`.
type leaseHistory struct {
	*leaseCmd
	from  string
	since time.Duration
}

func newLeaseHistoryCmd(a *cli.App) *cobra.Command {
	o := &leaseHistory{leaseCmd: &leaseCmd{a: a}}
	c := o.command("history", "List the changes of a key or of a resource", o.print)
	c.Long = "List the changes of a key or of a resource.\n\n" +
		"It reads topic " + events.LeaseChangesTopic + ", which keeps seven days. If Kafka cannot be read, it reads the\n" +
		"streams of DynamoDB, which keep 24 hours and take longer. It prints which of the two it has read."
	c.Example = "  weir lease history --client demo --pool demo --key mine --since 72h"
	o.keyFlag(c)
	c.Flags().StringVar(&o.resource, "resource", "", "resource, in place of --pool and --key")
	c.Flags().StringVar(&o.from, "from", fromAuto, "source: kafka, streams, or auto: kafka if it can be read, else streams")
	cli.Enum(c.Flags(), "from", fromAuto, "kafka", "streams")
	c.Flags().DurationVar(&o.since, "since", 24*time.Hour, "maximum age of the changes")
	return c
}

func (o *leaseHistory) print(ctx context.Context, l *node.LeaseTable) error {
	switch {
	case (o.resource == "") == (o.key == "") || (o.key == "") != (o.pool == ""):
		return cli.UsageError("the history is of one key or of one resource", "give --pool and --key, or --resource")
	case !slices.Contains([]string{fromAuto, fromKafka, fromStreams}, o.from):
		return cli.UsageError("--from "+o.from+" does not exist", "give --from kafka, streams or auto")
	case o.since <= 0:
		return cli.UsageError("--since "+o.since.String()+" is not positive", "give a duration such as 24h")
	}
	began := time.Now().Add(-o.since)
	why := "--from streams"
	if o.from != fromStreams {
		_, k, err := connect.LeaseCluster(ctx, o.a)
		if err != nil {
			return err
		}
		rows := status.RowFilter{Client: o.client, Pool: o.pool, Key: o.key, Resource: o.resource, Partitions: int32(l.Config.Partitions)}
		list, err := status.Changes(ctx, k, rows, began)
		if err == nil {
			o.a.Notef("read topic %s of Kafka since %s", events.LeaseChangesTopic, began.UTC().Format(time.RFC3339))
			return cli.PrintRows(o.a, admin.HistoryFromChanges(list))
		}
		if o.from == fromKafka || ctx.Err() != nil {
			return cli.Fail(cli.ExitUnavailable, "cannot read the history", err, "check --brokers, or give --from streams")
		}
		why = fmt.Sprintf("topic %s of Kafka cannot be read: %v", events.LeaseChangesTopic, err)
	}
	list, err := l.History(ctx, o.client, o.pool, o.key, o.resource)
	if err != nil {
		return connect.LeaseFailure("cannot read the history", err)
	}
	o.a.Notef("read the streams of DynamoDB, which keep 24 hours: %s", why)
	return cli.PrintRows(o.a, slices.DeleteFunc(list, func(e admin.HistoryEvent) bool { return e.Time.Before(began) }))
}
