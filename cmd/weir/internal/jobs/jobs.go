// Package jobs has the commands about job queues: weir queue and weir job.
package jobs

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/notify"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// Commands returns `weir queue` and `weir job`.
func Commands(a *cli.App) []*cobra.Command {
	q := &cobra.Command{
		Use:   "queue",
		Short: "Create, list, pause and watch job queues",
		Long: "Create, list, pause and watch job queues.\n\n" +
			"Agents declare the resources that they have, and get the jobs that require no others. docs/jobs.md\n" +
			"describes queues, jobs and agents.",
	}
	q.AddCommand(newSetCmd(a), newQueueListCmd(a), newPauseCmd(a), newResumeCmd(a), newSignalsCmd(a), newAlarmsCmd(a), newEventsCmd(a),
		notify.Command(a, "queue", alarmTopic()))
	j := &cobra.Command{
		Use:   "job",
		Short: "Submit jobs, run them, and see what became of them",
		Long: "Submit jobs, run them, and see what became of them.\n\n" +
			"The id of a job is PARTITION-NUMBER, such as 3-4711.",
	}
	j.AddCommand(newSubmitCmd(a), newPollCmd(a), newReportCmd(a), newShowCmd(a), newJobListCmd(a), newChangeCmd(a, "cancel"),
		newChangeCmd(a, "redo"), newWhyCmd(a), newBacktestCmd(a))
	return []*cobra.Command{q, j}
}

// request is a request of a command about a queue.
type request struct {
	*cli.App
	client *api.Client
	queue  string
}

// withQueue calls fn with a client of the server and the name of a queue.
func withQueue(a *cli.App, queue string, fn func(request) error) error {
	return connect.WithAPI(a, func(client *api.Client) error { return fn(request{a, client, queue}) })
}

// utc returns a time of an answer, empty for 0.
func utc(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// outcomeRow is what became of a report or a change.
type outcomeRow struct {
	Job    string `json:"job"`
	Result string `json:"result"` // ok, or a code
	Why    string `json:"why"`
}

// printOutcomes prints outcomes, and returns an error if one was refused.
func printOutcomes(a *cli.App, list []*jobpb.JobOutcome) error {
	var rows []outcomeRow
	refused := 0
	for _, o := range list {
		row := outcomeRow{o.GetId(), "ok", o.GetMessage()}
		if o.GetCode() != "" {
			row.Result = o.GetCode()
			refused++
		}
		rows = append(rows, row)
	}
	if err := cli.PrintRows(a, rows); err != nil {
		return err
	}
	if refused > 0 {
		return &cli.Failure{
			Code: cli.ExitFailed, What: fmt.Sprintf("%d of %d jobs were refused", refused, len(list)),
			Why: "the column why has the reasons",
			Do:  "`weir job show` shows the state of a job; repeat those whose result is unavailable",
		}
	}
	return nil
}
