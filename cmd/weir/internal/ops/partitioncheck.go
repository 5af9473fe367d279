package ops

import (
	"context"
	"fmt"
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

// partitionChecks checks the partitions of a running application: it asks the brokers for its
// processes, and a process for the partitions of all.
func partitionChecks(ctx context.Context, cfg *config.Config, k kafka.Cluster, app string) []kafkaadmin.Check {
	x, err := node.NewAccess(cfg)
	if err != nil {
		return unknownPartitions(app, err.Error(), "correct the setting, then run the command again")
	}
	var members []processors.Member
	err = kafka.Retry(ctx, k, membersTimeout, func() error {
		bounded, cancel := context.WithTimeout(ctx, membersTimeout)
		defer cancel()
		members, err = processors.Members(bounded, k, app)
		return err
	})
	if err != nil {
		return unknownPartitions(app, err.Error(), "see the checks of the brokers above")
	}
	return memberChecks(ctx, x, app, members)
}

// unknownPartitions is the finding that the partitions of app are not known.
func unknownPartitions(app, why, do string) []kafkaadmin.Check {
	return []kafkaadmin.Check{{Name: "partitions of " + app, Severity: kafkaadmin.Warning, Detail: "not known: " + why, Remedy: do}}
}

// memberChecks checks the partitions of an application whose processes are known.
func memberChecks(ctx context.Context, x node.Access, app string, members []processors.Member) []kafkaadmin.Check {
	if len(members) == 0 {
		return unknownPartitions(app, "no process runs", "start one with `weir run`, then run the command again")
	}
	tasks, err := connect.Tasks(ctx, x, members)
	if err != nil {
		return unknownPartitions(app, "no process answers: "+err.Error(),
			"check that the processes run, and that this machine reaches their API: api.advertise, api.ca_file, api.token_file")
	}
	return taskChecks("partitions of "+app, app, tasks)
}

// taskChecks returns a check for each reason why partitions of app do not run, or one OK check.
func taskChecks(name, app string, tasks []*weirpb.Partition) (checks []kafkaadmin.Check) {
	var stopped, waiting []api.PartitionGap
	running := 0
	for _, t := range tasks {
		gap := api.PartitionGap{Partition: t.GetPartition(), State: t.GetState(), Reason: t.GetReason()}
		switch {
		case t.GetApp() != app || t.GetState() == processors.StateStandby:
		case t.GetState() == processors.StateRunning:
			running++
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
			Name: name, Severity: kafkaadmin.Warning, Detail: text, Remedy: "wait, and run the command again; `weir lag` shows the progress and the owners",
		})
	}
	if len(checks) == 0 {
		checks = append(checks, kafkaadmin.Check{Name: name, OK: true, Severity: kafkaadmin.Info, Detail: fmt.Sprintf("all %d are running", running)})
	}
	return checks
}

// stopRemedy returns what to do about partitions that are stopped for a reason. The table in
// docs/operations.md has more words.
func stopRemedy(reason string) string {
	for _, r := range []struct{ has, do string }{
		{"was deleted and created again", "if dc or spend.generation names another topic, correct it; otherwise stop all processes, delete the group and the changelog, remove the state directories, and count from the start"},
		{"were changed from outside", "set the offsets of the group back to those of the message, then restart the process"},
		{"has no marker", "restore the changelog; without it, delete the offsets of the group to count everything again"},
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
