package jobs

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// queueFlags are the settings of a queue.
type queueFlags struct {
	partitions, attempts, associations, resources int32
	maxJobs                                       int64
	lease, backoff, maxBackoff, maxWait, avoid    time.Duration
	retention, waitTarget                         time.Duration
	fastest, events                               bool
}

func newSetCmd(a *cli.App) *cobra.Command {
	var x queueFlags
	c := &cobra.Command{
		Use:   "set QUEUE",
		Short: "Create a queue, or change its settings",
		Long: "Create a queue, or change its settings.\n\n" +
			"Settings that no flag names stay as they are; those of a new queue are the defaults. The command\n" +
			"returns when the settings are committed, and repeating it changes nothing.",
		Example: "  weir queue set images\n" +
			"  weir queue set images --lease 5m --attempts 3\n" +
			"  weir queue set reports --partitions 4",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return set(cmd, a, &x, args[0]) },
	}
	f := c.Flags()
	f.Int32Var(&x.partitions, "partitions", 1, "partitions over which the jobs are spread; it cannot shrink, and keys of jobs submitted before it grows are not found")
	f.DurationVar(&x.lease, "lease", time.Minute, "how long an agent has a job without a heartbeat")
	f.Int32Var(&x.attempts, "attempts", 5, "how often a job is tried, 1 to 200")
	f.DurationVar(&x.backoff, "backoff", time.Second, "longest wait before the first retry; it doubles with each further one")
	f.DurationVar(&x.maxBackoff, "max-backoff", 5*time.Minute, "longest wait before a retry")
	f.DurationVar(&x.maxWait, "max-wait", 10*time.Minute, "wait after which a job comes before all others that waited less")
	f.DurationVar(&x.avoid, "avoid", time.Minute, "how long an agent does not get a job again that failed there; negative: not at all")
	f.Int32Var(&x.associations, "associations", 16, "resources that an agent is associated with, beside those that it declares")
	f.Int32Var(&x.resources, "resources", 10_000, "different names of resources")
	f.BoolVar(&x.fastest, "fastest-first", false, "jobs with a short mean run time come before others of the same priority")
	f.BoolVar(&x.events, "events", false, "changes of jobs, agents and the queue are records of the topic jobs.events")
	f.DurationVar(&x.retention, "retention", 24*time.Hour, "how long jobs that ended are kept, at least")
	f.DurationVar(&x.waitTarget, "wait-target", time.Minute,
		"how long a job should wait at most: for alarms and advice, see weir queue signals")
	f.Int64Var(&x.maxJobs, "max-jobs", 10_000_000, "jobs of a partition that have not ended; further ones are refused")
	return c
}

func set(cmd *cobra.Command, a *cli.App, x *queueFlags, name string) error {
	return connect.WithAPI(a, func(client *api.Client) error {
		before, err := client.ListQueues(cmd.Context(), &jobpb.ListQueuesRequest{Queue: name})
		m := &jobpb.QueueSettings{}
		switch {
		case err == nil && len(before.GetQueues()) > 0:
			m = before.GetQueues()[0].GetSettings()
		case err != nil && !isNotFound(err):
			return err
		}
		x.apply(m, cmd.Flags().Changed)
		res, err := client.SetQueue(cmd.Context(), &jobpb.SetQueueRequest{Queue: name, Settings: m})
		if err != nil {
			return err
		}
		if res.GetCreated() {
			a.Notef("queue %s is created", name)
		}
		return listQueues(cmd.Context(), a, client, name)
	})
}

// apply sets the settings whose flags were given.
func (x *queueFlags) apply(m *jobpb.QueueSettings, changed func(flag string) bool) {
	number := func(flag string, to *int32, value int32) {
		if changed(flag) {
			*to = value
		}
	}
	duration := func(flag string, to *int64, value time.Duration) {
		if changed(flag) {
			*to = value.Milliseconds()
		}
	}
	number("partitions", &m.Partitions, x.partitions)
	number("attempts", &m.MaxAttempts, x.attempts)
	number("associations", &m.Associations, x.associations)
	number("resources", &m.MaxResources, x.resources)
	duration("lease", &m.LeaseMs, x.lease)
	duration("backoff", &m.BackoffMs, x.backoff)
	duration("max-backoff", &m.MaxBackoffMs, x.maxBackoff)
	duration("max-wait", &m.MaxPendingMs, x.maxWait)
	duration("avoid", &m.AvoidMs, x.avoid)
	duration("retention", &m.RetentionMs, x.retention)
	duration("wait-target", &m.WaitTargetMs, x.waitTarget)
	if changed("fastest-first") {
		m.FastestFirst = x.fastest
	}
	if changed("events") {
		m.Events = x.events
	}
	if changed("max-jobs") {
		m.MaxJobs = x.maxJobs
	}
}

func newQueueListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list [QUEUE]",
		Short:   "List the queues, with their jobs by state",
		Example: "  weir queue list\n  weir queue list images -o json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connect.WithAPI(a, func(client *api.Client) error {
				return listQueues(cmd.Context(), a, client, strings.Join(args, ""))
			})
		},
	}
}

// queueRow is a queue.
type queueRow struct {
	Queue      string `json:"queue"`
	Pending    uint64 `json:"pending"`
	Running    uint64 `json:"running"`
	Delayed    uint64 `json:"delayed"`
	Blocked    uint64 `json:"blocked"`
	Done       uint64 `json:"done"`
	Failed     uint64 `json:"failed"`
	Canceled   uint64 `json:"canceled"`
	Agents     int32  `json:"agents"`
	Paused     bool   `json:"paused"`
	Partitions int32  `json:"partitions" table:"wide"`
	Version    uint64 `json:"version" table:"wide"`
	Unread     string `json:"unread_partitions" table:"wide"`
	Alarms     int32  `json:"alarms"`
	OldestMs   int64  `json:"oldest_ms" table:"wide"`
}

func listQueues(ctx context.Context, a *cli.App, client *api.Client, name string) error {
	res, err := client.ListQueues(ctx, &jobpb.ListQueuesRequest{Queue: name})
	if err != nil {
		return err
	}
	var rows []queueRow
	for _, q := range res.GetQueues() {
		n := q.GetJobs()
		row := queueRow{
			Queue: q.GetName(), Pending: n.GetPending(), Running: n.GetRunning(), Delayed: n.GetDelayed(), Blocked: n.GetBlocked(),
			Done: n.GetDone(), Failed: n.GetFailed(), Canceled: n.GetCanceled(), Agents: q.GetAgents(), Paused: q.GetPaused(),
			Partitions: max(1, q.GetSettings().GetPartitions()), Version: q.GetVersion(),
			Alarms: q.GetAlarms(), OldestMs: q.GetOldestMs(),
		}
		if len(q.GetUnread()) > 0 {
			row.Unread = fmt.Sprint(q.GetUnread())
			a.Notef("queue %s: partitions %v cannot be read now, and are not counted", q.GetName(), q.GetUnread())
		}
		rows = append(rows, row)
	}
	if n := len(res.GetUnread()); n > 0 {
		a.Notef("partitions %v cannot be read now: queues that only they have are missing", res.GetUnread())
	} else if len(rows) == 0 {
		a.Notef("there is no queue yet: `weir queue set NAME` creates one")
	}
	return cli.PrintRows(a, rows)
}

func newPauseCmd(a *cli.App) *cobra.Command {
	pullback := false
	c := &cobra.Command{
		Use:   "pause QUEUE",
		Short: "Stop the start of jobs",
		Long: "Stop the start of jobs. Running jobs go on, unless --pullback takes them from their agents: they are\n" +
			"pending then, and their attempts do not count. `weir queue resume` ends the pause.",
		Example: "  weir queue pause images --pullback",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return setPause(cmd.Context(), a, &jobpb.PauseQueueRequest{Queue: args[0], Pullback: pullback})
		},
	}
	c.Flags().BoolVar(&pullback, "pullback", false, "take running jobs from their agents")
	return c
}

func newResumeCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "resume QUEUE",
		Short:   "End the pause of a queue",
		Example: "  weir queue resume images",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return setPause(cmd.Context(), a, &jobpb.PauseQueueRequest{Queue: args[0], Resume: true})
		},
	}
}

func setPause(ctx context.Context, a *cli.App, req *jobpb.PauseQueueRequest) error {
	return connect.WithAPI(a, func(client *api.Client) error {
		if _, err := client.PauseQueue(ctx, req); err != nil {
			return err
		}
		return listQueues(ctx, a, client, req.GetQueue())
	})
}
