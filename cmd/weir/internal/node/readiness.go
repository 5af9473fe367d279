package node

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/processors"
)

// Readiness is whether a role of this process can serve.
type Readiness struct {
	Partitions int      // that the process has of the role
	Reasons    []string // why the role cannot serve yet; none: it can
	Stopped    []string // partitions that are stopped until an operator acts, with their reasons
}

// ready is api.Config.Ready: whether all roles can serve.
func (n *Node) ready(ctx context.Context) api.Readiness {
	var all Readiness
	for _, p := range n.parts {
		r := p.Ready(ctx)
		all.Partitions += r.Partitions
		all.Reasons, all.Stopped = append(all.Reasons, r.Reasons...), append(all.Stopped, r.Stopped...)
	}
	if all.Partitions == 0 && len(all.Reasons) == 0 {
		all.Reasons = []string{"no partition assigned yet"}
	}
	return api.Readiness{Ready: len(all.Reasons) == 0, Reasons: all.Reasons, Stopped: all.Stopped}
}

// Owned returns the number of partitions that this process has, of all roles.
func (n *Node) Owned(ctx context.Context) (count int) {
	for _, p := range n.parts {
		count += p.Ready(ctx).Partitions
	}
	return count
}

// runtimeReadiness is the readiness of a role with one runtime.
func runtimeReadiness(rt *processors.Runtime) Readiness {
	var r Readiness
	if d, cut := rt.BrokerIdle(); cut {
		r.Reasons = append(r.Reasons, fmt.Sprintf("no broker has answered for %s: the process continues by itself when one does", d.Round(time.Second)))
	}
	tasks := rt.Status()
	if len(tasks) == 0 {
		r.Reasons = append(r.Reasons, rt.App()+" has no partition assigned yet")
	}
	r.addTasks(rt.App(), tasks)
	return r
}

// addTasks adds the tasks of an application.
func (r *Readiness) addTasks(app string, tasks []processors.Status) {
	r.Partitions = len(tasks)
	var starting, stopped []api.PartitionGap
	running := 0
	for _, t := range tasks {
		gap := api.PartitionGap{Partition: t.Partition, State: t.State, Reason: t.Reason}
		switch t.State {
		case processors.StateRunning:
			running++
		case processors.StateStopped:
			stopped = append(stopped, gap)
		case processors.StateStandby:
		default:
			starting = append(starting, gap)
		}
	}
	for _, text := range api.DescribeGaps(starting) {
		r.Reasons = append(r.Reasons, app+" "+text)
	}
	var texts []string
	for _, text := range api.DescribeGaps(stopped) {
		texts = append(texts, app+" "+text)
	}
	r.addStopped(texts, running+len(starting) > 0)
}

// addStopped adds the partitions that are stopped. While the role has other partitions, it serves
// them: the process stays ready, because a process that an orchestrator restarts or takes out of
// service does not help the stopped ones. A role whose partitions are all stopped cannot serve, so
// that a wrong configuration ends a rolling update at its first process.
func (r *Readiness) addStopped(texts []string, serves bool) {
	r.Stopped = append(r.Stopped, texts...)
	if !serves {
		r.Reasons = append(r.Reasons, texts...)
	}
}
