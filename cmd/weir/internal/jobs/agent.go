package jobs

import (
	"strconv"
	"strings"
	"time"

	rpc "connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

func isNotFound(err error) bool { return rpc.CodeOf(err) == rpc.CodeNotFound }

func newPollCmd(a *cli.App) *cobra.Command {
	m := &jobpb.PollJobsRequest{}
	var wait, delay time.Duration
	c := &cobra.Command{
		Use:   "poll QUEUE",
		Short: "Get jobs as an agent",
		Long: "Get jobs as an agent, for scripts and to try a queue. Report how they ended by `weir job report`\n" +
			"before their lease ends. Programs use JobService, and send heartbeats.",
		Example: "  weir job poll images --agent me --has gpu --wait 1m",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			m.Queue, m.WaitMs, m.DelayMs = args[0], max(1, wait.Milliseconds()), delay.Milliseconds()
			return connect.WithAPI(a, func(client *api.Client) error {
				res, err := client.PollJobs(cmd.Context(), m)
				if err != nil {
					return err
				}
				return printStarted(a, res)
			})
		},
	}
	f := c.Flags()
	f.StringVar(&m.Agent, "agent", "", "name of the agent")
	f.StringSliceVar(&m.Has, "has", nil, "resources of the agent")
	f.Int32Var(&m.MaxJobs, "max", 1, "maximum number of jobs, up to 1000")
	f.Int32Var(&m.Slots, "slots", 0, "jobs that the agent runs at a time; 0: any number")
	f.StringVar(&m.Policy, "policy", "greedy", "wait, greedy or delay: which jobs the agent takes that prefer other resources")
	f.DurationVar(&delay, "delay", 5*time.Second, "with --policy delay: how long they are left to other agents")
	f.DurationVar(&wait, "wait", time.Second, "how long to wait for a job, at most a minute")
	_ = c.MarkFlagRequired("agent")
	return c
}

// startedRow is an attempt that an agent has.
type startedRow struct {
	Job        string `json:"job"`
	Attempt    uint32 `json:"attempt"`
	LeaseUntil string `json:"lease_until"`
	Payload    string `json:"payload"`
	Require    string `json:"require"`
	Prefer     string `json:"prefer" table:"wide"`
	Key        string `json:"key" table:"wide"`
	Group      string `json:"group" table:"wide"`
}

func printStarted(a *cli.App, res *jobpb.PollJobsResponse) error {
	var rows []startedRow
	for _, j := range res.GetJobs() {
		rows = append(rows, startedRow{
			j.GetId(), j.GetAttempt(), utc(j.GetLeaseUntilMs()), string(j.GetPayload()), strings.Join(j.GetRequire(), " "),
			strings.Join(j.GetPrefer(), " "), j.GetKey(), j.GetGroup(),
		})
	}
	if len(rows) == 0 {
		a.Notef("there is no job for the agent now")
	}
	return cli.PrintRows(a, rows)
}

func newReportCmd(a *cli.App) *cobra.Command {
	agent, result, failed := "", "", ""
	final, returned := false, false
	c := &cobra.Command{
		Use:   "report QUEUE JOB ATTEMPT",
		Short: "Report how an attempt ended",
		Long: "Report how an attempt ended: it is done, unless --error, or --return, is given. A report that is\n" +
			"repeated changes nothing. That of an attempt that another one has replaced is refused.",
		Example: "  weir job report images 3-4711 1 --agent me --result '{\"size\":9}'\n" +
			"  weir job report images 3-4711 1 --agent me --error 'no such image' --final",
		Args: cobra.ExactArgs(3),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("error") && failed == "" {
				return cli.UsageError("--error is empty, so that the job would be done", "give the reason why the attempt failed")
			}
			attempt, err := strconv.ParseUint(args[2], 10, 8)
			if err != nil {
				return cli.UsageError("ATTEMPT "+args[2]+" is not a number from 1 to 255", "`weir job poll` prints it")
			}
			return connect.WithAPI(a, func(client *api.Client) error {
				r := &jobpb.JobReport{
					Id: args[1], Attempt: uint32(attempt), Result: []byte(result), Error: failed, Final: final, Returned: returned,
				}
				res, err := client.ReportJobs(cmd.Context(), &jobpb.ReportJobsRequest{
					Queue: args[0], Agent: agent, Reports: []*jobpb.JobReport{r},
				})
				if err != nil {
					return err
				}
				return printOutcomes(a, res.GetOutcomes())
			})
		},
	}
	f := c.Flags()
	f.StringVar(&agent, "agent", "", "name of the agent that has the attempt")
	f.StringVar(&result, "result", "", "of the job, at most 4 KiB")
	f.StringVar(&failed, "error", "", "why the attempt failed")
	f.BoolVar(&final, "final", false, "with --error: no other attempt would succeed")
	f.BoolVar(&returned, "return", false, "the agent could not run the job: the attempt does not count")
	c.MarkFlagsMutuallyExclusive("result", "error", "return")
	_ = c.MarkFlagRequired("agent")
	return c
}
