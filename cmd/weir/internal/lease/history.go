package lease

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/api/leasestatus"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events"
)

// Where a history is read.
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
	c := o.command("history", "Tells what happened to a key, or to a resource, in the last 24 hours or more", o.print)
	c.Long = "Tells what happened to a key, or to a resource. It reads topic " + events.LeaseChangesTopic + ", which has seven days, and where no broker has it\n" +
		"the streams of DynamoDB, which have 24 hours and take longer; it says which."
	c.Example = "  weir lease history --client demo --pool demo --key mine --since 72h"
	o.keyFlag(c)
	c.Flags().StringVar(&o.resource, "resource", "", "resource, in place of a key")
	c.Flags().StringVar(&o.from, "from", fromAuto, "where it is read: kafka, streams, or auto: the first, else the second")
	c.Flags().DurationVar(&o.since, "since", 24*time.Hour, "how long ago it may have been")
	return c
}

func (o *leaseHistory) print(ctx context.Context, l *node.LeaseTable) error {
	switch {
	case (o.resource == "") == (o.key == "") || (o.key == "") != (o.pool == ""):
		return cli.UsageError("it is not clear whose history is wanted", "give --pool and --key, or --resource")
	case !slices.Contains([]string{fromAuto, fromKafka, fromStreams}, o.from):
		return cli.UsageError("a history cannot be read from "+o.from, "give --from kafka, streams or auto")
	case o.since <= 0:
		return cli.UsageError("--since "+o.since.String()+" is not in the past", "give a duration like 24h")
	}
	began := time.Now().Add(-o.since)
	why := "as --from says"
	if o.from != fromStreams {
		list, err := o.changes(ctx, l, began)
		if err == nil {
			o.a.Notef("read %s of Kafka, since %s", events.LeaseChangesTopic, began.UTC().Format(time.RFC3339))
			return cli.PrintRows(o.a, list)
		}
		if o.from == fromKafka || ctx.Err() != nil {
			return cli.Fail(cli.ExitUnavailable, "cannot tell the history", err, "check --brokers, or give --from streams")
		}
		why = "no broker has " + events.LeaseChangesTopic
	}
	list, err := l.History(ctx, o.client, o.pool, o.key, o.resource)
	if err != nil {
		return connect.LeaseFailure("cannot tell the history", err)
	}
	o.a.Notef("read the streams of DynamoDB, which have 24 hours: %s", why)
	return cli.PrintRows(o.a, slices.DeleteFunc(list, func(e admin.Event) bool { return e.Time.Before(began) }))
}

// changes reads the topic.
func (o *leaseHistory) changes(ctx context.Context, l *node.LeaseTable, since time.Time) ([]admin.Event, error) {
	_, k, err := connect.Cluster(o.a)
	if err != nil {
		return nil, err
	}
	rows := leasestatus.RowFilter{Client: o.client, Pool: o.pool, Key: o.key, Resource: o.resource, Partitions: int32(l.Config.Partitions)}
	list, err := leasestatus.Changes(ctx, k, rows, since)
	return admin.HistoryFromChanges(list), err
}
