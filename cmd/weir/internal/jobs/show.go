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

// jobRow is a job.
type jobRow struct {
	Job       string `json:"job"`
	State     string `json:"state"`
	Attempt   uint32 `json:"attempt"`
	Agent     string `json:"agent"`
	Until     string `json:"until"` // running: end of the lease; delayed: when it becomes pending
	Require   string `json:"require"`
	Prefer    string `json:"prefer" table:"wide"`
	Priority  uint32 `json:"priority" table:"wide"`
	Group     string `json:"group" table:"wide"`
	Key       string `json:"key" table:"wide"`
	After     string `json:"after" table:"wide"`
	Submitted string `json:"submitted" table:"wide"`
	Ended     string `json:"ended" table:"wide"`
	Result    string `json:"result"`
	Error     string `json:"error"`
	Tries     uint32 `json:"tries" table:"wide"`
	Evicted   bool   `json:"evicted" table:"wide"`
	Reason    string `json:"reason" table:"wide"` // refused: code
	First     string `json:"first" table:"wide"`  // refused as a duplicate: the job with the same key
	Progress  string `json:"progress" table:"wide"`
}

func jobRows(list []*jobpb.Job) (rows []jobRow) {
	for _, j := range list {
		rows = append(rows, jobRow{
			Job: j.GetId(), State: j.GetState(), Attempt: j.GetAttempt(), Agent: j.GetAgent(), Until: utc(j.GetUntilMs()),
			Require: strings.Join(j.GetRequire(), " "), Prefer: strings.Join(j.GetPrefer(), " "), Priority: j.GetPriority(),
			Group: j.GetGroup(), Key: j.GetKey(), After: strings.Join(j.GetAfter(), " "), Submitted: utc(j.GetSubmittedMs()),
			Ended: utc(j.GetEndedMs()), Result: string(j.GetResult()), Error: j.GetError(), Tries: j.GetTries(), Evicted: j.GetEvicted(),
			Reason: j.GetReason(), First: j.GetFirst(), Progress: j.GetProgress(),
		})
	}
	return rows
}

func newShowCmd(a *cli.App) *cobra.Command {
	var wait time.Duration
	c := &cobra.Command{
		Use:   "show QUEUE JOB...",
		Short: "Show jobs by their ids",
		Long: "Show jobs by their ids, as they are committed. none: no job has the id, or its submission is not\n" +
			"applied yet. refused: the queue has not taken it, for the reason in the column error.\n\n" +
			"With --wait it waits until they have ended, and fails unless all are done.",
		Example: "  weir job show images 3-4711 3-4712\n  weir job show images 3-4711 --wait 5m",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withQueue(a, args[0], func(r request) error {
				if wait > 0 {
					list, err := r.await(cmd.Context(), args[1:], wait)
					if err != nil {
						return err
					}
					return printAwaited(a, list)
				}
				res, err := r.client.GetJobs(cmd.Context(), &jobpb.GetJobsRequest{Queue: r.queue, Ids: args[1:]})
				if err != nil {
					return err
				}
				return cli.PrintRows(a, jobRows(res.GetJobs()))
			})
		},
	}
	c.Flags().DurationVar(&wait, "wait", 0, "wait until the jobs have ended, for this time at most")
	return c
}

// selection is what the flags of lists select.
type selection struct {
	state, group, resource, page string
	limit                        int
}

func (x *selection) flags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&x.state, "state", "", "delayed, blocked, pending, running, done, failed or canceled (default: all)")
	f.StringVar(&x.group, "group", "", "jobs of a group")
	f.StringVar(&x.resource, "resource", "", "jobs that require or prefer a resource")
}

func newJobListCmd(a *cli.App) *cobra.Command {
	var x selection
	count := false
	c := &cobra.Command{
		Use:     "list QUEUE",
		Short:   "List the jobs of a queue",
		Long:    "List the jobs of a queue that have not been evicted, in the order of their ids.",
		Example: "  weir job list images --state failed\n  weir job list images --resource gpu --count",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if x.limit < 1 {
				return cli.UsageError("--limit is not a positive number", "use 1 or more")
			}
			return withQueue(a, args[0], func(r request) error { return x.list(cmd.Context(), r, count) })
		},
	}
	x.flags(c)
	f := c.Flags()
	f.IntVar(&x.limit, "limit", 100, "maximum number of jobs")
	f.StringVar(&x.page, "page", "", "token of the previous page, to continue after it")
	f.BoolVar(&count, "count", false, "print the number of jobs only")
	return c
}

// countRow is a number of jobs.
type countRow struct {
	Jobs int64 `json:"jobs"`
}

// request returns the request of the selection.
func (x *selection) request(queue string) *jobpb.ListJobsRequest {
	return &jobpb.ListJobsRequest{Queue: queue, State: x.state, Group: x.group, Resource: x.resource, PageToken: x.page}
}

func (x *selection) list(ctx context.Context, r request, count bool) error {
	req := x.request(r.queue)
	if req.Count = count; count {
		res, err := r.client.ListJobs(ctx, req)
		if err != nil {
			return err
		}
		return cli.PrintRows(r.App, []countRow{{res.GetCount()}})
	}
	jobs, next, err := pages(ctx, r.client, req, x.limit)
	if err != nil {
		return err
	}
	if err := cli.PrintRows(r.App, jobRows(jobs)); err != nil {
		return err
	}
	if next != "" {
		r.Notef("there are more: --page %s", next)
	}
	return nil
}

// pages lists up to limit jobs, and returns the token of the next page.
func pages(ctx context.Context, client *api.Client, req *jobpb.ListJobsRequest, limit int) (all []*jobpb.Job, next string, err error) {
	for {
		req.Limit = int32(min(limit-len(all), api.MaxJobs))
		res, err := client.ListJobs(ctx, req)
		if err != nil {
			return nil, "", err
		}
		all, req.PageToken = append(all, res.GetJobs()...), res.GetNextPageToken()
		if len(all) >= limit || req.PageToken == "" {
			return all, req.PageToken, nil
		}
	}
}

func newChangeCmd(a *cli.App, change string) *cobra.Command {
	var x selection
	dryRun := false
	short := "Cancel jobs that have not succeeded"
	if change == "redo" {
		short = "Run jobs that have ended once more"
	}
	c := &cobra.Command{
		Use:   change + " QUEUE [JOB...]",
		Short: short,
		Long: short + ": those that are named, or those that --state, --group and\n" +
			"--resource select. With --dry-run the jobs are counted, and nothing changes.",
		Example: "  weir job " + change + " images 3-4711\n  weir job " + change + " images --state failed --group nightly --dry-run",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			selected := x.state != "" || x.group != "" || x.resource != ""
			switch named := len(args) > 1; {
			case named && (selected || dryRun):
				return cli.UsageError("ids and --state, --group, --resource or --dry-run contradict each other",
					"name the jobs, or select them")
			case !named && !selected:
				return cli.UsageError("no jobs are named", "name their ids, or select them by --state, --group or --resource")
			}
			return withQueue(a, args[0], func(r request) error {
				if len(args) > 1 {
					return r.changeNamed(cmd.Context(), change, args[1:])
				}
				return r.changeSelected(cmd.Context(), change, &x, dryRun)
			})
		},
	}
	x.flags(c)
	c.Flags().BoolVar(&dryRun, "dry-run", false, "count the jobs, and change nothing")
	return c
}

// changedRow is how many jobs were changed.
type changedRow struct {
	Selected int `json:"selected"`
	Changed  int `json:"changed"`
	Refused  int `json:"refused"` // their states do not permit it
	Unknown  int `json:"unknown"` // their partitions did not answer
}

// changeNamed changes jobs that are named.
func (r request) changeNamed(ctx context.Context, change string, ids []string) error {
	res, err := r.client.ChangeJobs(ctx, &jobpb.ChangeJobsRequest{Queue: r.queue, Change: change, Ids: ids})
	if err != nil {
		return err
	}
	return printOutcomes(r.App, res.GetOutcomes())
}

// changeSelected changes the jobs that x selects, or counts them.
func (r request) changeSelected(ctx context.Context, change string, x *selection, dryRun bool) error {
	req := x.request(r.queue)
	req.Count = true
	count, err := r.client.ListJobs(ctx, req)
	if err != nil {
		return err
	}
	row := changedRow{Selected: int(count.GetCount())}
	for req.Count = false; !dryRun; {
		list, next, err := pages(ctx, r.client, req, api.MaxJobs)
		if err != nil {
			return err
		}
		if len(list) == 0 {
			break
		}
		var page []string
		for _, j := range list {
			page = append(page, j.GetId())
		}
		res, err := r.client.ChangeJobs(ctx, &jobpb.ChangeJobsRequest{Queue: r.queue, Change: change, Ids: page})
		if err != nil {
			r.Notef("%d jobs were changed before the error", row.Changed)
			return err
		}
		for _, o := range res.GetOutcomes() {
			switch o.GetCode() {
			case "":
				row.Changed++
			case "failed_precondition", "aborted", "not_found":
				row.Refused++
			default:
				row.Unknown++
			}
		}
		// Jobs that are submitted while the command runs are not waited for.
		if req.PageToken = next; next == "" || row.Changed+row.Refused+row.Unknown >= row.Selected {
			break
		}
	}
	if err := cli.PrintRows(r.App, []changedRow{row}); err != nil || row.Unknown == 0 {
		return err
	}
	return &cli.Failure{
		Code: cli.ExitTempFail, What: fmt.Sprintf("%d jobs may not be changed", row.Unknown), Why: "their partitions did not answer",
		Do: "repeat the command: jobs that are changed already stay as they are",
	}
}

func newWhyCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "why QUEUE JOB",
		Short:   "Explain why a job is not running",
		Example: "  weir job why images 3-4711",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return connect.WithAPI(a, func(client *api.Client) error {
				res, err := client.ExplainJob(cmd.Context(), &jobpb.ExplainJobRequest{Queue: args[0], Id: args[1]})
				if err != nil {
					return err
				}
				return cli.PrintRows(a, []whyRow{{res.GetJob().GetId(), res.GetJob().GetState(), res.GetText()}})
			})
		},
	}
}

// whyRow is why a job is not running.
type whyRow struct {
	Job   string `json:"job"`
	State string `json:"state"`
	Why   string `json:"why"`
}
