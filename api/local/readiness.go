package local

import (
	"fmt"
	"slices"
	"time"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/processors"
)

// Readiness is whether a part of this process can serve: a role, or an application.
type Readiness struct {
	Partitions int      // that the process has of it
	Reasons    []string // why it cannot serve yet; none: it can
	Stopped    []string // partitions that are stopped until an operator acts, with their reasons
	// Waiting is why a supervised part waits for another cluster; empty: it does not. A part with
	// partitions waits for one of several, and works with the others.
	Waiting string
	// ReadyAlone is whether a process is ready that has only this part while it waits: a rolling
	// update must not wait for another datacentre.
	ReadyAlone bool
}

// ProcessReadiness returns the answer of /readyz for a process of parts. A process without a
// partition is not ready, unless a part waits, and neither is a process in which all parts wait.
func ProcessReadiness(parts []Readiness) api.Readiness {
	partitions, idle := 0, 0
	var out api.Readiness
	for _, p := range parts {
		partitions += p.Partitions
		for _, why := range p.Reasons {
			if !slices.Contains(out.Reasons, why) { // such as that no broker answers
				out.Reasons = append(out.Reasons, why)
			}
		}
		out.Stopped = append(out.Stopped, p.Stopped...)
		if p.Waiting != "" {
			out.Waiting = append(out.Waiting, p.Waiting)
			if p.Partitions == 0 && !p.ReadyAlone {
				idle++
			}
		}
	}
	if idle == len(parts) { // the process does nothing
		out.Reasons = append(out.Reasons, out.Waiting...)
	}
	if partitions == 0 && len(out.Reasons) == 0 && len(out.Waiting) == 0 {
		out.Reasons = []string{"no partition assigned yet"}
	}
	out.Ready = len(out.Reasons) == 0
	return out
}

// RuntimeReadiness returns the readiness of the application of rt.
func RuntimeReadiness(rt *processors.Runtime) Readiness {
	var r Readiness
	if d, cut := rt.BrokerIdle(); cut {
		r.Reasons = append(r.Reasons,
			fmt.Sprintf("no broker has answered for %s: the process continues by itself when one does", d.Round(time.Second)))
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
	r.AddStopped(texts, running+len(starting) > 0)
}

// AddStopped adds the partitions that are stopped. While the part has other partitions, it serves
// them: the process stays ready, because a process that an orchestrator restarts or takes out of
// service does not help the stopped ones. A role whose partitions are all stopped cannot serve, so
// that a wrong configuration ends a rolling update at its first process.
func (r *Readiness) AddStopped(texts []string, serves bool) {
	r.Stopped = append(r.Stopped, texts...)
	if !serves {
		r.Reasons = append(r.Reasons, texts...)
	}
}
