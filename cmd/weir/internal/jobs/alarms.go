package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/notify"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/processors/kafkaadmin"
	"github.com/weirhq/weir/stream"
)

func newAlarmsCmd(a *cli.App) *cobra.Command {
	var since time.Duration
	c := &cobra.Command{
		Use:   "alarms QUEUE",
		Short: "Show the alarms of a queue that are not over, or those of a time",
		Long: "Show the alarms of a queue that are not over, for each of its partitions:\n\n" +
			"  outage    attempts fail far more often than usual, and what the failures have in common\n" +
			"  late      jobs wait longer than --wait-target of the queue\n" +
			"  unserved  jobs wait, and no agent that is up has the resources that they require\n\n" +
			"With --since it reads the topic jobs.alarms, which also has when alarms were over.",
		Example: "  weir queue alarms images\n  weir queue alarms images --since 24h -o json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case since < 0:
				return cli.UsageError(fmt.Sprintf("--since %s is out of range", since), "use a time above 0, such as 24h")
			case since > 0:
				return pastAlarms(cmd.Context(), a, args[0], since)
			}
			return connect.WithAPI(a, func(client *api.Client) error { return alarms(cmd.Context(), a, client, args[0]) })
		},
	}
	c.Flags().DurationVar(&since, "since", 0,
		"read the alarms of this time from the brokers (default: those that are not over, from the server)")
	return c
}

// alarmRow is an alarm: a row of a table, and a document for a webhook.
type alarmRow struct {
	At        string   `json:"at"` // of the news
	Queue     string   `json:"queue" table:"wide"`
	Partition int32    `json:"partition" table:"wide"`
	Kind      string   `json:"kind"`
	Active    bool     `json:"active"` // false: it is over
	Subject   string   `json:"subject"`
	Text      string   `json:"text"`
	Since     string   `json:"since" table:"wide"`
	Factors   []string `json:"factors,omitempty" table:"-"`
	Require   []string `json:"require,omitempty" table:"-"`
	Slots     int32    `json:"slots,omitempty" table:"-"`
	Want      int32    `json:"want_slots,omitempty" table:"-"`
}

func alarms(ctx context.Context, a *cli.App, client *api.Client, queue string) error {
	res, err := client.GetSignals(ctx, &jobpb.GetSignalsRequest{Queue: queue})
	if err != nil {
		return err
	}
	unread(a, queue, res)
	var rows []alarmRow
	for _, m := range res.GetAlarms() {
		rows = append(rows, alarmRow{
			At: utc(m.GetSinceMs()), Queue: queue, Partition: m.GetPartition(), Kind: m.GetKind(), Active: true, Subject: m.GetSubject(),
			Text: m.GetText(), Since: utc(m.GetSinceMs()), Factors: m.GetFactors(),
		})
	}
	if len(rows) == 0 {
		a.Notef("queue %s has no alarm", queue)
	}
	return cli.PrintRows(a, rows)
}

// pastAlarms prints alarms from the topic, the oldest first.
func pastAlarms(ctx context.Context, a *cli.App, queue string, since time.Duration) error {
	cfg, k, err := connect.Cluster(ctx, a)
	if err != nil {
		return err
	}
	read := connect.Documents[alarmRow]{App: a, Decode: decodeAlarm, Keep: func(row *alarmRow) bool { return row.Queue == queue }}
	rows, err := read.Read(ctx, k, kafkaadmin.TopicRange{Topic: alarmsTopic(cfg), Since: time.Now().Add(-since)})
	if err != nil {
		return alarmsFailure(err)
	}
	slices.SortStableFunc(rows, func(x, y alarmRow) int { return strings.Compare(x.At, y.At) })
	return cli.PrintRows(a, rows)
}

// decodeAlarm returns the alarm of a record of jobs.alarms.
func decodeAlarm(value []byte) (*alarmRow, error) {
	m := &eventspb.JobAlarm{}
	if err := proto.Unmarshal(value, m); err != nil {
		return nil, fmt.Errorf("not a JobAlarm: %w", err)
	}
	if m.GetQueue() == "" || m.GetKind() == "" {
		return nil, fmt.Errorf("not a JobAlarm: queue %q, kind %q", m.GetQueue(), m.GetKind())
	}
	row := &alarmRow{
		At: utc(m.GetAtMs()), Queue: m.GetQueue(), Partition: m.GetPartition(), Kind: m.GetKind(), Active: m.GetActive(),
		Subject: m.GetSubject(), Text: m.GetText(), Since: utc(m.GetSinceMs()), Require: m.GetRequire(), Slots: m.GetSlots(),
		Want: m.GetWant(),
	}
	for _, f := range m.GetFactors() {
		row.Factors = append(row.Factors, strings.TrimSpace(f.GetKind()+" "+f.GetName()))
	}
	return row, nil
}

func alarmsTopic(*config.Config) string { return events.JobAlarmsTopic }

// alarmTopic is the topic of alarms for `weir queue notify`.
func alarmTopic() notify.Topic {
	return notify.Topic{
		Name: alarmsTopic, Group: "jobs.notify", What: "alarm of a job queue", URL: "https://hooks.example.com/jobs",
		Failure: alarmsFailure,
		Decode: func(r *stream.SinkRecord) (notify.Alert, error) {
			row, err := decodeAlarm(r.Value)
			if err != nil {
				return notify.Alert{}, err
			}
			return notify.Alert{ID: fmt.Sprintf("%d-%d", r.Partition, r.Offset), Document: row}, nil
		},
	}
}

func alarmsFailure(err error) error {
	return cli.Fail(cli.ExitUnavailable, "cannot read the alarms", err,
		"check kafka.brokers; `weir topics apply --for jobs` creates the topic of alarms")
}
