package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/api/leasestatus"
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

func newLeaseHistoryCmd(a *app) *cobra.Command {
	o := &leaseHistory{leaseCmd: &leaseCmd{a: a}}
	c := o.command("history", "Tells what happened to a key, or to a resource, in the last 24 hours or more", o.tell)
	c.Long = "Tells what happened to a key, or to a resource. It reads topic " + events.LeaseChangesTopic + ", which has seven days, and where no broker has it\n" +
		"the streams of DynamoDB, which have 24 hours and take longer; it says which."
	c.Example = "  weir lease history --client demo --pool demo --key mine --since 72h"
	o.keyFlag(c)
	c.Flags().StringVar(&o.resource, "resource", "", "resource, in place of a key")
	c.Flags().StringVar(&o.from, "from", fromAuto, "where it is read: kafka, streams, or auto: the first, else the second")
	c.Flags().DurationVar(&o.since, "since", 24*time.Hour, "how long ago it may have been")
	return c
}

func (o *leaseHistory) tell(ctx context.Context, l *leases) error {
	switch {
	case (o.resource == "") == (o.key == "") || (o.key == "") != (o.pool == ""):
		return usage("it is not clear whose history is wanted", "give --pool and --key, or --resource")
	case !slices.Contains([]string{fromAuto, fromKafka, fromStreams}, o.from):
		return usage("a history cannot be read from "+o.from, "give --from kafka, streams or auto")
	case o.since <= 0:
		return usage("--since "+o.since.String()+" is not in the past", "give a duration like 24h")
	}
	began := time.Now().Add(-o.since)
	why := "as --from says"
	if o.from != fromStreams {
		list, err := o.changes(ctx, l, began)
		if err == nil {
			o.a.say("read %s of Kafka, since %s", events.LeaseChangesTopic, began.UTC().Format(time.RFC3339))
			return printRows(o.a, list)
		}
		if o.from == fromKafka || ctx.Err() != nil {
			return fail(exitUnavailable, "cannot tell the history", err, "check --brokers, or give --from streams")
		}
		why = "no broker has " + events.LeaseChangesTopic
	}
	list, err := l.History(ctx, o.client, o.pool, o.key, o.resource)
	if err != nil {
		return leaseFailure("cannot tell the history", err)
	}
	o.a.say("read the streams of DynamoDB, which have 24 hours: %s", why)
	return printRows(o.a, slices.DeleteFunc(list, func(e admin.Event) bool { return e.Time.Before(began) }))
}

// changes reads the topic.
func (o *leaseHistory) changes(ctx context.Context, l *leases, since time.Time) ([]admin.Event, error) {
	_, k, err := cluster(o.a)
	if err != nil {
		return nil, err
	}
	rows := leasestatus.RowFilter{Client: o.client, Pool: o.pool, Key: o.key, Resource: o.resource, Partitions: int32(l.cfg.Partitions)}
	list, err := leasestatus.Changes(ctx, k, rows, since)
	return admin.HistoryFromChanges(list), err
}
