package push

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors"
)

// pushRow is the push of one partition of the totals into another datacentre.
type pushRow struct {
	Target     string   `json:"target"`
	Partition  int32    `json:"partition"`
	State      string   `json:"state"` // pushing, comparing, waiting or stopped; that of the task if it does not run; no process
	Next       int64    `json:"next"`  // offset of the totals to commit next there; -1: not known
	End        int64    `json:"end"`   // -1: not known
	Lag        int64    `json:"lag"`
	AgeSeconds *float64 `json:"age_seconds,omitempty"` // the copy has the rows that were written before; nil: not known
	Pushed     int64    `json:"pushed" table:"wide"`
	Process    string   `json:"process"`
	Reason     string   `json:"reason"`
}

// stateNoProcess is pushRow.State of a partition of no process that answers.
const stateNoProcess = "no process"

func newStatusCmd(a *cli.App) *cobra.Command {
	var only []string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what is written of the totals into each other datacentre: position, lag, age and state by partition",
		Long: "Show the push of this datacentre's totals into the next two datacentres of the ring. A row is a\n" +
			"partition of spend.by.<dc>: the offset that is committed next in the target, the end, the lag in\n" +
			"offsets, and the age of the copy, which has all rows that were written before.\n\n" +
			"The state is pushing, comparing (the push reads the totals and their copy, because its position\n" +
			"does not tell what the copy has), waiting (a cluster does not answer; the push continues by itself),\n" +
			"stopped (until an operator acts), or that of a task that does not run.",
		Example: "  weir push status\n  weir push status --target us -o jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := connectPush(cmd.Context(), a)
			if err != nil {
				return err
			}
			var names []string
			for _, t := range d.config.PushTargets() {
				names = append(names, t.Name)
			}
			for _, dc := range only {
				if !slices.Contains(names, dc) {
					return unknownTarget(dc, names)
				}
			}
			var rows []pushRow
			for _, t := range d.targets(cmd.Context()) {
				if len(only) > 0 && !slices.Contains(only, t.Target) {
					continue
				}
				for n := range t.Partitions {
					rows = append(rows, newPushRow(t, n))
				}
			}
			return cli.PrintRows(a, rows)
		},
	}
	c.Flags().StringSliceVar(&only, "target", nil, "datacentres into which this one writes (default: all of them)")
	return c
}

// unknownTarget is the error for a datacentre into which this one does not write.
func unknownTarget(dc string, targets []string) error {
	do := "this datacentre writes into: " + strings.Join(targets, ", ")
	if n, ok := config.Nearest(dc, targets); ok {
		do = "did you mean " + n + "?"
	}
	return cli.UsageError(fmt.Sprintf("--target: this datacentre does not write into one called %q", dc), do)
}

func newPushRow(t target, partition int32) pushRow {
	r := pushRow{Target: t.Target, Partition: partition, Next: -1, End: -1, State: stateNoProcess}
	task := t.tasks[partition]
	switch {
	case task == nil && t.err != nil:
		r.Reason = t.err.Error()
		return r
	case task == nil:
		r.Reason = "no process that answers has the partition"
		return r
	}
	r.Process, r.State, r.Reason = task.GetInstance(), task.GetState(), task.GetReason()
	s := task.GetPush()
	if r.State != processors.StateRunning {
		return r
	}
	if s == nil {
		r.State, r.Reason = render.PushWaiting, "the process has not reported it yet"
		return r
	}
	r.Next, r.End, r.Lag, r.Pushed, r.Reason = s.GetNext(), s.GetEnd(), s.GetLag(), s.GetPushed(), s.GetProblem()
	if ms := s.GetAsOfMs(); ms > 0 {
		age := math.Round(max(0, time.Since(time.UnixMilli(ms)).Seconds())*10) / 10
		r.AgeSeconds = &age
	}
	r.State = render.PushState(s)
	if r.State == render.PushComparing {
		r.Reason = s.GetComparing()
	}
	return r
}
