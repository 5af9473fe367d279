package mirror

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/processors"
)

// copyRow is the copying of one partition of a topic of another datacentre.
type copyRow struct {
	DC         string   `json:"dc"`
	Topic      string   `json:"topic"`
	Partition  int32    `json:"partition"`
	State      string   `json:"state"` // copying, waiting or stopped; that of the task if it does not run; no process
	Next       int64    `json:"next"`  // offset there to copy next; -1: not known
	End        int64    `json:"end"`   // -1: not known
	Lag        int64    `json:"lag"`
	LagSeconds *float64 `json:"lag_seconds,omitempty"` // upper bound; nil: not known
	Last       string   `json:"last"`                  // time of the last copied record, heartbeats included
	Copied     int64    `json:"copied" table:"wide"`
	Process    string   `json:"process"`
	Reason     string   `json:"reason"`
	Skip       string   `json:"skip" table:"wide"` // the command that lets a stopped copy continue
}

// Values of copyRow.State.
const (
	stateCopying   = "copying"
	stateWaiting   = "waiting"
	stateStopped   = "stopped"
	stateNoProcess = "no process"
)

func newStatusCmd(a *cli.App) *cobra.Command {
	var only []string
	c := &cobra.Command{
		Use:   "status",
		Short: "Show what is copied of each other datacentre: position, lag, state and last record by partition",
		Long: "Show what the mirror of this datacentre copies of each other one. A row is a partition of a topic\n" +
			"there: the offset that is copied next, the end, the lag in offsets, an upper bound of the age of\n" +
			"the records that wait, and the time of the last copied record. The bound grows while the other\n" +
			"datacentre does not answer, and is absent until it has answered once. A mirror writes a\n" +
			"heartbeat into each partition of ads.events each second, so the time of a copy of ads.events is\n" +
			"recent while all works.\n\n" +
			"The state is copying, waiting (the other datacentre does not answer; the mirror continues by\n" +
			"itself), stopped (until an operator acts), or that of a task that does not run. -o wide has the\n" +
			"command that lets a stopped copy continue.",
		Example: "  weir mirror status\n  weir mirror status --dc us -o jsonl",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := connectMirror(cmd.Context(), a)
			if err != nil {
				return err
			}
			for _, dc := range only {
				if err := d.isPeer("--dc", dc); err != nil {
					return err
				}
			}
			tasks, err := d.tasks(cmd.Context())
			if err != nil {
				return err
			}
			rows := d.rows(tasks)
			if len(only) > 0 {
				rows = slices.DeleteFunc(rows, func(r copyRow) bool { return !slices.Contains(only, r.DC) })
			}
			for _, r := range rows {
				if r.Skip != "" {
					a.Notef("%s/%s/%d is stopped: `%s` shows what is lost if it continues", r.DC, r.Topic, r.Partition, r.Skip)
				}
			}
			return cli.PrintRows(a, rows)
		},
	}
	c.Flags().StringSliceVar(&only, "dc", nil, "datacentres (default: all others)")
	return c
}

// isPeer returns a usage error if no other datacentre is called dc. where is what names it.
func (d deployment) isPeer(where, dc string) error {
	var names []string
	for _, p := range d.Peers {
		names = append(names, p.DC)
	}
	return connect.KnownDatacentre(where, dc, "other datacentre", names)
}

// rows returns a row for each partition of each topic of each datacentre, in this order.
func (d deployment) rows(tasks map[int32]task) (rows []copyRow) {
	for _, p := range d.Peers {
		for _, t := range d.Topics {
			for n := range d.Partitions {
				rows = append(rows, newCopyRow(tasks[n], p.DC, t.Name, n))
			}
		}
	}
	return rows
}

func newCopyRow(t task, dc, topic string, partition int32) copyRow {
	r := copyRow{DC: dc, Topic: topic, Partition: partition, Next: -1, End: -1, State: stateNoProcess}
	if t.Partition == nil {
		r.Reason = "no process that answers has the partition"
		return r
	}
	r.Process, r.State, r.Reason = t.GetInstance(), t.GetState(), t.GetReason()
	c := t.copyOf(dc, topic)
	if r.State != processors.StateRunning {
		return r
	}
	if c == nil {
		r.State, r.Reason = stateWaiting, "the process has not reported it yet, or its dcs lacks "+dc
		return r
	}
	r.Next, r.End, r.Lag, r.Copied, r.Reason = c.GetNext(), c.GetEnd(), c.GetLag(), c.GetCopied(), c.GetProblem()
	if ms := c.GetLagMs(); ms >= 0 {
		lag := math.Ceil(float64(ms)/10) / 100
		r.LagSeconds = &lag
	}
	if ms := c.GetLastMs(); ms > 0 {
		r.Last = time.UnixMilli(ms).UTC().Format(time.RFC3339)
	}
	switch {
	case c.GetStopped():
		r.State, r.Skip = stateStopped, skipCommand(c, partition)
	case c.GetProblem() != "":
		r.State = stateWaiting
	default:
		r.State = stateCopying
	}
	return r
}

// skipCommand returns the command that plans the skip of a stopped copy, empty if it cannot
// continue. Without a known offset the operator has to choose one.
func skipCommand(c *weirpb.CopyStatus, partition int32) string {
	to := c.GetResume()
	if to == nil {
		return ""
	}
	offset := fmt.Sprint(to.GetNext())
	if to.GetNext() == 0 && !to.GetRecreated() {
		offset = "OFFSET"
	}
	return fmt.Sprintf("weir mirror skip %s/%s/%d --to %s", c.GetDc(), c.GetTopic(), partition, offset)
}
