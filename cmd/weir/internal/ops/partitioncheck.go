package ops

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
	"github.com/weirhq/weir/processors/kafka"
	"github.com/weirhq/weir/processors/kafkaadmin"
)

// membersTimeout bounds the question to the brokers for the members of a group.
const membersTimeout = 5 * time.Second

// partitionCheck checks the partitions of running applications: it asks the brokers for their
// processes, and one process of each application for the partitions of all.
type partitionCheck struct {
	kafka kafka.Cluster
	tasks *connect.Tasks
	known map[string][]processors.Member // members of an application with state
	errs  map[string]error               // why they are not known
}

// partitionChecks checks the partitions of apps.
func partitionChecks(ctx context.Context, cfg *config.Config, k kafka.Cluster, apps []node.App) (checks []kafkaadmin.Check) {
	x, err := node.NewAccess(cfg)
	if err != nil {
		for _, app := range apps {
			checks = append(checks, unknownPartitions(app.Name, err.Error(), "correct the setting, then run the command again")...)
		}
		return checks
	}
	p := partitionCheck{kafka: k, tasks: connect.NewTasks(x), known: map[string][]processors.Member{}, errs: map[string]error{}}
	for _, app := range apps {
		if app.Processor != nil { // the members of other groups have no address
			p.known[app.Name], p.errs[app.Name] = groupMembers(ctx, k, app.Name, processors.Members)
		}
	}
	for _, app := range apps {
		if app.Processor == nil {
			checks = append(checks, p.sink(ctx, app.Name)...)
			continue
		}
		if err := p.errs[app.Name]; err != nil {
			checks = append(checks, unknownMembers(app.Name, err)...)
			continue
		}
		if checks = append(checks, p.app(ctx, app.Name)...); !connect.OfServer(cfg) {
			checks = append(checks, settingsChecks(app, p.known[app.Name])...)
		}
	}
	return checks
}

// groupMembers asks the brokers for the members of an application's group.
func groupMembers[M any](ctx context.Context, k kafka.Cluster, app string,
	ask func(context.Context, kafka.Cluster, string) (M, error),
) (members M, err error) {
	err = kafka.Retry(ctx, k, membersTimeout, func() (err error) {
		bounded, cancel := context.WithTimeout(ctx, membersTimeout)
		defer cancel()
		members, err = ask(bounded, k, app)
		return err
	})
	return members, err
}

// settingsChecks compares the settings of an application in this configuration with those of its
// running processes.
func settingsChecks(app node.App, members []processors.Member) (checks []kafkaadmin.Check) {
	if len(members) == 0 || len(app.Processor.Settings) == 0 {
		return nil
	}
	name := "settings of " + app.Name
	for _, d := range processors.Differences(app.Processor.Settings, members) {
		checks = append(checks, kafkaadmin.Check{
			Name: name, Severity: kafkaadmin.Warning,
			Detail: fmt.Sprintf("%s is %s here, and %s in process %s", d.Name, d.Own, d.Theirs, d.Instance),
			Remedy: "use the same configuration; to change this setting, stop all processes, change it in all of them, and start them: a process that differs from the others does not start",
		})
	}
	if len(checks) == 0 {
		checks = append(checks,
			kafkaadmin.Check{
				Name: name, OK: true, Severity: kafkaadmin.Info, Detail: "those of the running processes are the same as here",
			})
	}
	return checks
}

// unknownPartitions is the finding that the partitions of app are not known.
func unknownPartitions(app, why, do string) []kafkaadmin.Check {
	return []kafkaadmin.Check{{Name: "partitions of " + app, Severity: kafkaadmin.Warning, Detail: "not known: " + why, Remedy: do}}
}

// unknownMembers is the finding that the brokers do not list the members of app's group.
func unknownMembers(app string, err error) []kafkaadmin.Check {
	return unknownPartitions(app, err.Error(), "see the checks of the brokers above")
}

// noProcess is the finding that app's group has no member.
func noProcess(app string) []kafkaadmin.Check {
	return unknownPartitions(app, "no process runs", "start one with `weir run`, then run the command again")
}

// app checks the partitions of an application whose processes are known.
func (p *partitionCheck) app(ctx context.Context, app string) []kafkaadmin.Check {
	members := p.known[app]
	if len(members) == 0 {
		return noProcess(app)
	}
	tasks, err := p.tasks.Of(ctx, members)
	if err != nil {
		return unknownPartitions(app, "no process answers: "+err.Error(),
			"check that the processes run, and that this machine reaches their API: api.advertise, api.ca_file, api.token_file")
	}
	return taskChecks("partitions of "+app, app, tasks)
}

// sink checks the partitions of an application whose processes have no address: processes of other
// applications that run it too report them.
func (p *partitionCheck) sink(ctx context.Context, app string) []kafkaadmin.Check {
	switch members, err := groupMembers(ctx, p.kafka, app, kafkaadmin.GroupMembers); {
	case err != nil:
		return unknownMembers(app, err)
	case members == 0:
		return noProcess(app)
	}
	var found []*weirpb.Partition
	for _, name := range slices.Sorted(maps.Keys(p.known)) {
		tasks, _ := p.tasks.Of(ctx, p.known[name]) // the check of the other application has the error
		for _, t := range tasks {
			same := func(o *weirpb.Partition) bool {
				return o.GetPartition() == t.GetPartition() && o.GetInstance() == t.GetInstance()
			}
			if t.GetApp() == app && !slices.ContainsFunc(found, same) {
				found = append(found, t)
			}
		}
	}
	if len(found) == 0 {
		return []kafkaadmin.Check{{
			Name: "partitions of " + app, OK: true, Severity: kafkaadmin.Info,
			Detail: "not known: no process with another role reports them; `weir ready` at the executor does, and `weir lag --app " + app +
				"` shows its lag",
		}}
	}
	return taskChecks("partitions of "+app, app, found)
}

// taskChecks returns a check for each reason why partitions of app do not run, or one OK check.
func taskChecks(name, app string, tasks []*weirpb.Partition) (checks []kafkaadmin.Check) {
	var standbys []kafkaadmin.Check
	var stopped, waiting []api.PartitionGap
	running := 0
	for _, t := range tasks {
		gap := api.PartitionGap{Partition: t.GetPartition(), State: t.GetState(), Reason: t.GetReason()}
		switch {
		case t.GetApp() != app:
		case t.GetState() == processors.StateStandby:
			standbys = append(standbys, standbyChecks(name, t)...)
		case t.GetState() == processors.StateRunning:
			running++
			checks = append(checks, skippedChecks(name, t)...)
		case t.GetState() == processors.StateStopped && t.GetUnreadable() != nil:
			checks = append(checks, kafkaadmin.Check{
				Name: name, Severity: kafkaadmin.Error,
				Detail: fmt.Sprintf("partition %d is stopped (%s)", t.GetPartition(), t.GetReason()),
				Remedy: "`" + skipCommand(t) + "` shows what would be lost; with --why and --yes the partition continues there",
			})
		case t.GetState() == processors.StateStopped:
			stopped = append(stopped, gap)
		default:
			waiting = append(waiting, gap)
		}
	}
	for _, text := range api.DescribeGaps(stopped) {
		checks = append(checks, kafkaadmin.Check{Name: name, Severity: kafkaadmin.Error, Detail: text, Remedy: stopRemedy(text)})
	}
	for _, text := range api.DescribeGaps(waiting) {
		checks = append(checks, kafkaadmin.Check{
			Name: name, Severity: kafkaadmin.Warning, Detail: text,
			Remedy: "wait, and run the command again; `weir lag` shows the progress and the owners",
		})
	}
	if len(checks) == 0 && running == 0 {
		return append(
			unknownPartitions(app, "the process that answered does not report them", "check that it has the version of this command"),
			standbys...)
	}
	if !slices.ContainsFunc(checks, func(c kafkaadmin.Check) bool { return !c.OK }) {
		checks = append(checks,
			kafkaadmin.Check{Name: name, OK: true, Severity: kafkaadmin.Info, Detail: fmt.Sprintf("all %d are running", running)})
	}
	return append(checks, standbys...)
}

// skipCommand returns the command that lets a partition continue behind what it cannot read.
func skipCommand(t *weirpb.Partition) string {
	u := t.GetUnreadable()
	return fmt.Sprintf("weir partition skip %s/%d --to %d --app %s", u.GetTopic(), t.GetPartition(), u.GetNext(), t.GetApp())
}

// skippedChecks lists what operators skipped in a partition.
func skippedChecks(name string, t *weirpb.Partition) (checks []kafkaadmin.Check) {
	for _, r := range t.GetSkipped() {
		checks = append(checks, kafkaadmin.Check{Name: name, OK: true, Severity: kafkaadmin.Info, Detail: fmt.Sprintf(
			"partition %d does not have %s/%d from offset %d to %d (%d offsets): skipped by %s at %s: %s",
			t.GetPartition(), r.GetTopic(), t.GetPartition(), r.GetFrom(), r.GetTo()-1, r.GetTo()-r.GetFrom(), r.GetWho(),
			time.UnixMilli(r.GetAtMs()).UTC().Format(time.RFC3339), r.GetWhy())})
	}
	return checks
}

// damagedChangelog is what the reason of a partition with a damaged changelog contains.
const damagedChangelog = "is damaged: "

// standbyChecks reports a standby that cannot follow a damaged changelog.
func standbyChecks(name string, t *weirpb.Partition) []kafkaadmin.Check {
	if !strings.Contains(t.GetReason(), damagedChangelog) {
		return nil
	}
	return []kafkaadmin.Check{{
		Name: name, Severity: kafkaadmin.Warning,
		Detail: fmt.Sprintf("the standby of partition %d in process %s does not follow (%s)", t.GetPartition(), t.GetInstance(),
			t.GetReason()),
		Remedy: "keep the process that runs the partition and its data_dir: its store may be the only one that is past the batch; see \"A damaged changelog\" in docs/operations.md",
	}}
}

// stopRemedy returns what to do about partitions that are stopped for a reason. The table in
// docs/operations.md has more words.
func stopRemedy(reason string) string {
	for _, r := range []struct{ has, do string }{
		{
			"was deleted and created again",
			"if dc or spend.generation names another topic, correct it; otherwise stop all processes, delete the group and the changelog, remove the state directories, and count from the start",
		},
		{
			"belongs to changelog",
			"set dc and spend.generation back to those of the changelog in the message, and restart the process; delete nothing",
		},
		{"were changed from outside", "set the offsets of the group back to those of the message, then restart the process"},
		{"has no marker", "restore the changelog; without it, delete the offsets of the group to count everything again"},
		{
			damagedChangelog,
			"if a replica has the batch whole, make it the leader and restart the process; otherwise let a process whose store is past the batch take over, or restore a savepoint: see \"A damaged changelog\" in docs/operations.md",
		},
		{"was cut or replaced", "check that the changelog is the right one, remove the state directory of the process, and restart it"},
		{"in a row panicked", "deploy a version that can fold the records"},
		{"written by a newer version", "run the newer version of weir"},
	} {
		if strings.Contains(reason, r.has) {
			return r.do
		}
	}
	return "remove the reason, then restart the process that has the partitions; docs/operations.md has the known reasons under \"A stopped partition\""
}
