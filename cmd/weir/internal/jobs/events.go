package jobs

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/processors/logreader"
	"github.com/weirhq/weir/stream"
)

// maxEvents is how many events are shown at most. They are in memory before.
const maxEvents = 1_000_000

// eventFlags choose events.
type eventFlags struct {
	since time.Duration
	limit int
	watch bool
	jobs  []string
}

func newEventsCmd(a *cli.App) *cobra.Command {
	var x eventFlags
	c := &cobra.Command{
		Use:   "events QUEUE",
		Short: "Show what happened to jobs, agents and the queue",
		Long: "Show what happened to jobs, agents and the queue, from the topic jobs.events. A queue has events\n" +
			"after `weir queue set QUEUE --events`.\n\n" +
			"An event of an agent or of the queue is about one partition: -o wide shows which. With --watch new\n" +
			"events follow until the command is interrupted, a line for each.",
		Example: "  weir queue events images\n  weir queue events images --job 3-4711 --since 24h\n  weir queue events images --watch -o jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case x.since < 0:
				return cli.UsageError(fmt.Sprintf("--since %s is out of range", x.since), "use a time from 0 on, such as 24h")
			case x.limit < 1 || x.limit > maxEvents:
				return cli.UsageError(fmt.Sprintf("--limit %d is out of range", x.limit), fmt.Sprintf("use 1 to %d", maxEvents))
			case x.watch && a.Structured() && a.Format != cli.FormatJSONL:
				return cli.UsageError(fmt.Sprintf("-o %s has an end, and --watch has none", a.Format), "use -o jsonl, or omit -o")
			}
			_, k, err := connect.Cluster(cmd.Context(), a)
			if err != nil {
				return err
			}
			if x.watch && !cmd.Flags().Changed("since") {
				x.since = 0
			}
			r := eventReader{App: a, eventFlags: x, kafka: k, queue: args[0]}
			return r.run(cmd.Context())
		},
	}
	f := c.Flags()
	f.DurationVar(&x.since, "since", time.Hour, "age of the oldest event; with --watch from now on, unless it is given")
	f.IntVar(&x.limit, "limit", 1000, "how many past events are shown, the newest ones")
	f.BoolVarP(&x.watch, "watch", "w", false, "show new events until interrupted")
	f.StringSliceVar(&x.jobs, "job", nil, "only events of these jobs")
	return c
}

// eventRow is an event.
type eventRow struct {
	At       string   `json:"at"`
	Queue    string   `json:"queue" table:"-"`
	Job      string   `json:"job"`
	Event    string   `json:"event"`
	Attempt  uint32   `json:"attempt"`
	Agent    string   `json:"agent"`
	Reason   string   `json:"reason"`
	Error    string   `json:"error"`
	Until    string   `json:"until" table:"wide"`
	Part     int32    `json:"partition" table:"wide"`
	Result   string   `json:"result" table:"wide"`
	Require  []string `json:"require,omitempty" table:"-"`
	Prefer   []string `json:"prefer,omitempty" table:"-"`
	Priority uint32   `json:"priority,omitempty" table:"-"`
	Group    string   `json:"group,omitempty" table:"-"`
	Key      string   `json:"key,omitempty" table:"-"`
	Has      []string `json:"has,omitempty" table:"-"`
	Slots    int32    `json:"slots,omitempty" table:"-"`
	Below    uint64   `json:"evicted_below,omitempty" table:"-"`
}

// decodeEvent returns the event of a record of jobs.events.
func decodeEvent(value []byte) (*eventRow, error) {
	m := &eventspb.JobEvent{}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, fmt.Errorf("not a JobEvent: %w", err)
	}
	if m.GetQueue() == "" || m.GetKind() == eventspb.JobEventKind_JOB_EVENT_KIND_UNSPECIFIED {
		return nil, fmt.Errorf("not a JobEvent: queue %q, kind %s", m.GetQueue(), m.GetKind())
	}
	spec := m.GetSpec()
	return &eventRow{
		At: utc(m.GetAtMs()), Queue: m.GetQueue(), Job: m.GetJob(), Attempt: m.GetAttempt(), Agent: m.GetAgent(),
		Event:  strings.ToLower(strings.TrimPrefix(m.GetKind().String(), "JOB_EVENT_KIND_")),
		Reason: m.GetReason(), Error: m.GetError(), Until: utc(m.GetUntilMs()), Result: string(m.GetResult()),
		Require: spec.GetRequire(), Prefer: spec.GetPrefer(), Priority: spec.GetPriority(), Group: spec.GetGroup(), Key: spec.GetKey(),
		Has: m.GetHas(), Slots: m.GetSlots(), Part: m.GetPartition(), Below: m.GetEvictedBelow(),
	}, nil
}

// eventReader reads the events of a queue.
type eventReader struct {
	*cli.App
	eventFlags

	kafka kafka.Cluster
	queue string
}

// run prints events. With watch it ends without an error when ctx does.
func (r *eventReader) run(ctx context.Context) error {
	ends, rows, err := r.past(ctx)
	switch {
	case err != nil && ctx.Err() != nil && r.watch:
		return nil
	case err != nil:
		return eventsFailure(err)
	case !r.watch:
		if len(rows) == 0 {
			r.Notef("queue %s has no events of the last %s: `weir queue set %s --events` turns them on", r.queue, r.since, r.queue)
		}
		return cli.PrintRows(r.App, rows)
	}
	if err := r.lines(rows); err != nil {
		return err
	}
	return r.follow(ctx, ends)
}

// past returns the newest events up to the ends of the partitions, the oldest one first.
func (r *eventReader) past(ctx context.Context) (ends logreader.Extents, rows []eventRow, err error) {
	if ends, err = logreader.DescribeExtent(ctx, r.kafka, events.JobEventsTopic); err != nil {
		return ends, nil, err
	}
	documents, left := r.documents(), false
	newest := func() {
		slices.SortStableFunc(rows, func(x, y eventRow) int { return strings.Compare(x.At, y.At) })
		if n := len(rows) - r.limit; n > 0 {
			rows, left = slices.Delete(rows, 0, n), true
		}
	}
	err = kafkaadmin.ReadTopic(ctx, r.kafka, events.JobEventsTopic, time.Now().Add(-r.since), func(p int32, x stream.Record) error {
		if int(p) < len(ends.Partitions) && x.Offset < ends.Partitions[p].End { // later ones are for watch
			if rows = documents.Add(rows, p, x.Offset, x.Value); len(rows) >= 2*r.limit+1000 {
				newest()
			}
		}
		return nil
	})
	if newest(); left {
		r.Notef("there are more events: --limit shows more than the newest %d", r.limit)
	}
	return ends, rows, err
}

// documents returns the decoder of the events that are asked for.
func (r *eventReader) documents() connect.Documents[eventRow] {
	return connect.Documents[eventRow]{App: r.App, Decode: decodeEvent, Keep: func(row *eventRow) bool {
		return row.Queue == r.queue && (len(r.jobs) == 0 || slices.Contains(r.jobs, row.Job))
	}}
}

// lines prints events as they come.
func (r *eventReader) lines(rows []eventRow) error {
	if r.Structured() {
		return cli.PrintRows(r.App, rows)
	}
	return r.Print(func(w io.Writer) error {
		for i := range rows {
			x := &rows[i]
			attempt := ""
			if x.Attempt > 0 {
				attempt = fmt.Sprint(x.Attempt)
			}
			line := fmt.Sprintf("%s  %-12s  %-10s  %2s  %-16s  %s  %s", x.At, x.Job, x.Event, attempt, x.Agent, x.Reason, x.Error)
			if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
				return err
			}
		}
		return nil
	})
}

// follow prints the events from the ends of the partitions on.
func (r *eventReader) follow(ctx context.Context, ends logreader.Extents) error {
	reader := logreader.New(logreader.Config{Kafka: r.kafka, Partitions: len(ends.Partitions)})
	found := make(chan []eventRow)
	g, limited := errgroup.WithContext(ctx)
	for p := range ends.Partitions {
		g.Go(func() error {
			part, err := reader.Open(events.JobEventsTopic, int32(p), ends.EndOf(int32(p))) //nolint:contextcheck // Close ends the reading
			if err != nil {
				return eventsFailure(err)
			}
			defer part.Close()
			return r.followPartition(limited, part, int32(p), found)
		})
	}
	g.Go(func() error {
		for {
			select {
			case rows := <-found:
				if err := r.lines(rows); err != nil {
					return err
				}
			case <-limited.Done():
				return limited.Err()
			}
		}
	})
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

func (r *eventReader) followPartition(ctx context.Context, part *logreader.Partition, n int32, found chan<- []eventRow) error {
	var b logreader.Batch
	documents := r.documents()
	for {
		if err := part.Next(ctx, &b, 1<<20); err != nil {
			return eventsFailure(err)
		}
		var rows []eventRow
		for i := range b.Records {
			rows = documents.Add(rows, n, b.Records[i].Offset, b.Records[i].Value)
		}
		select {
		case found <- rows:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func eventsFailure(err error) error {
	return cli.Fail(cli.ExitUnavailable, "cannot read the events", err,
		"check kafka.brokers; `weir topics apply --for jobs` creates the topic of events")
}
