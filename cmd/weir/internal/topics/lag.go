package topics

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// lagRow is a partition of an input topic: figures of the brokers, then figures of the processes.
type lagRow struct {
	App            string   `json:"app"`
	Topic          string   `json:"topic"`
	Partition      int32    `json:"partition"`
	Start          int64    `json:"start" table:"wide"`
	Committed      int64    `json:"committed"`
	Stable         int64    `json:"stable" table:"wide"`
	High           int64    `json:"high" table:"wide"`
	Lag            int64    `json:"lag"`
	LagSeconds     float64  `json:"lag_seconds"`
	Lost           int64    `json:"lost"`
	Skipped        int64    `json:"skipped"` // by operators
	Process        string   `json:"process"` // that owns the partition; empty if none does
	Member         string   `json:"member" table:"wide"`
	Host           string   `json:"host" table:"wide"`
	Group          string   `json:"group"`           // the group's state
	Task           string   `json:"task"`            // running, restoring, stopped...; empty: the process does not answer
	Standbys       []string `json:"standbys"`        // processes with a standby of the partition
	RestoreRecords int64    `json:"restore_records"` // left to read from the changelog
	RestoreSeconds float64  `json:"restore_seconds"` // left at the present speed
	Reason         string   `json:"reason"`          // why the partition is not running
}

// lagCommand is `weir lag`.
type lagCommand struct {
	a     *cli.App
	apps  []string
	group string

	k     kafka.Cluster
	tasks *connect.Tasks
}

func newLagCmd(a *cli.App) *cobra.Command {
	l := &lagCommand{a: a}
	c := &cobra.Command{
		Use:   "lag",
		Short: "Show the lag of each application by partition, and the processes that own partitions",
		Long: "Show the lag of each application by partition: the number of records that are not processed, and\n" +
			"the age of the oldest. Processes that answer add the state of their partitions: running, restoring\n" +
			"(with the rest of the restore) or standby. Roles that wait for another cluster are listed on stderr.\n\n" +
			"Without --app it shows all applications whose topics exist. --group shows any consumer group, such\n" +
			"as that of a program of your own.\n\n" +
			"If one of several brokers is down, the command tries again for up to 20 s.",
		Example: "  weir lag\n  weir lag --app spendcounter,lease-balancer\n  weir lag --group wordcount",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}
	c.Flags().StringSliceVar(&l.apps, "app", nil, "applications, such as spendcounter,lease-balancer (default: all)")
	connect.GroupFlag(c.Flags(), &l.group)
	c.MarkFlagsMutuallyExclusive("app", "group")
	return c
}

func (l *lagCommand) run(ctx context.Context) error {
	cfg, k, err := connect.Cluster(ctx, l.a)
	if err != nil {
		return err
	}
	l.k = k
	x, err := node.NewAccess(cfg)
	if err != nil {
		return connect.NodeFailure(err)
	}
	l.tasks = connect.NewTasks(x)
	apps := []node.App{{Name: l.group}}
	if l.group == "" {
		if apps, err = connect.NamedApps(cfg, l.apps); err != nil {
			return err
		}
	}
	var rows []lagRow
	var missing []string
	var failed error
	for _, app := range apps {
		list, err := l.of(ctx, app)
		switch {
		case errors.Is(err, kafkaadmin.ErrUnknownTopic) && len(l.apps) == 0 && l.group == "":
			missing, failed = append(missing, app.Name), err
			continue
		case err != nil:
			return connect.GroupFailure("cannot read the lag of "+app.Name, err)
		}
		rows = append(rows, list...)
	}
	if len(missing) == len(apps) {
		return connect.TopicFailure(cli.ExitUnavailable, "cannot read the lag", failed)
	}
	if len(missing) > 0 {
		l.a.Notef("without %s, whose topics do not exist", strings.Join(missing, ", "))
	}
	for _, role := range l.tasks.Waiting() {
		l.a.Notef("%s", role)
	}
	return cli.PrintRows(l.a, rows)
}

// of returns the rows of one application. If its processes do not answer, the rows have the figures
// of the brokers.
func (l *lagCommand) of(ctx context.Context, app node.App) ([]lagRow, error) {
	var list []kafkaadmin.PartitionLag
	err := kafka.Retry(ctx, l.k, kafka.FailoverTimeout, func() (err error) {
		if inputs := app.Inputs; inputs != nil {
			list, err = kafkaadmin.Lag(ctx, l.k, app.Name, inputs)
			return err
		}
		inputs, err := kafkaadmin.GroupInputs(ctx, l.k, app.Name)
		if err == nil {
			list, err = kafkaadmin.Lag(ctx, l.k, app.Name, inputs)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var members []processors.Member
	err = kafka.Retry(ctx, l.k, kafka.FailoverTimeout, func() (err error) {
		members, err = processors.Members(ctx, l.k, app.Name)
		return err
	})
	if err != nil {
		l.a.Notef("without the processes of %s, which are not known: %v", app.Name, err)
	}
	rows := lagRows(list, members, l.tasksOf(ctx, app.Name, members))
	for i := range rows {
		rows[i].App = app.Name
	}
	l.explainAdded(ctx, app, rows)
	return rows, nil
}

// explainAdded gives the rows of partitions that an administrator has added their reason: no
// process reads them.
func (l *lagCommand) explainAdded(ctx context.Context, app node.App, rows []lagRow) {
	unowned := func(r lagRow) bool { return r.Process == "" }
	if app.Processor == nil || !slices.ContainsFunc(rows, unowned) { // of a sink or another program the state is not known
		return
	}
	var state int32
	err := kafka.Retry(ctx, l.k, kafka.FailoverTimeout, func() (err error) {
		state, err = kafkaadmin.StatePartitions(ctx, l.k, app.Processor)
		return err
	})
	if err != nil {
		l.a.Notef("without the partitions of the state of %s, which are not known: %v", app.Name, err)
	}
	has := map[string]int32{}
	for _, r := range rows {
		has[r.Topic] = max(has[r.Topic], r.Partition+1)
	}
	for i := range rows {
		if r := &rows[i]; unowned(*r) && state > 0 && r.Partition >= state {
			added := kafkaadmin.AddedPartitions{Topic: r.Topic, State: state, Has: has[r.Topic]}
			r.Reason = added.String() + ": " + added.Remedy()
		}
	}
}

// tasksOf returns the tasks of an application, nil if no process answers. One process answers for
// all applications that it runs. The members of a sink have no address: processes that run another
// application, too, have reported its tasks.
func (l *lagCommand) tasksOf(ctx context.Context, app string, members []processors.Member) []*weirpb.Partition {
	_, _ = l.tasks.Of(ctx, members) // without an answer the rows have the figures of the brokers
	return l.tasks.Known(app)
}

// lagRows joins the figures of the brokers with those of the processes.
func lagRows(list []kafkaadmin.PartitionLag, members []processors.Member, tasks []*weirpb.Partition) []lagRow {
	rows := make([]lagRow, 0, len(list))
	for _, l := range list {
		r := lagRow{
			Topic: l.Topic, Partition: l.Partition, Start: l.Start, Committed: l.Committed, Stable: l.LastStable, High: l.HighWatermark,
			Lag:        l.Lag,
			LagSeconds: l.LagSeconds, Lost: l.Lost, Member: l.Member, Host: l.Host, Group: l.State,
		}
		for _, m := range members {
			if m.ID == l.Member {
				r.Process = cmp.Or(m.Instance, l.Instance) // a member of another program has its static name alone
			}
			if slices.Contains(m.Standbys, l.Partition) {
				r.Standbys = append(r.Standbys, m.Instance)
			}
		}
		for _, t := range tasks {
			if t.GetPartition() != l.Partition || t.GetState() == api.StateStandby {
				continue
			}
			r.Task, r.Reason, r.Process = t.GetState(), t.GetReason(), cmp.Or(r.Process, t.GetInstance())
			for _, s := range t.GetSkipped() {
				if s.GetTopic() == l.Topic {
					r.Skipped += s.GetTo() - s.GetFrom()
				}
			}
			r.RestoreRecords, r.RestoreSeconds = t.GetRestore().GetRecords(), math.Round(100*(float64(t.GetRestore().GetEtaMs())/1000))/100
		}
		rows = append(rows, r)
	}
	return rows
}
