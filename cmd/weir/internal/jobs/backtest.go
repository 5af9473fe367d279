package jobs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/jobqueue/backtest"
)

// backtestRun is a run of `weir job backtest`.
type backtestRun struct {
	a               *cli.App
	cfg             backtest.Config
	opt             backtest.Options
	agents          int
	profiles        []string
	policies        []string
	speed, runScale float64
	size            time.Duration
	picture         string
}

// busiest is the utilisation for which the default number of agents is enough.
const busiest = 0.8

// maxTraceJobs bounds --limit.
const maxTraceJobs = 10_000_000

func newBacktestCmd(a *cli.App) *cobra.Command {
	r := backtestRun{a: a}
	c := &cobra.Command{
		Use:   "backtest FILE|-",
		Short: "Try scheduling policies on a recorded trace",
		Long: "Try scheduling policies on a recorded trace, in simulated time, with the code of the queue. FILE\n" +
			"has lines of the Standard Workload Format, or JSON objects, in which only the times are required:\n" +
			`{"at_ms":1700000000000,"run_ms":1500,"require":["gpu"],"prefer":["model:x"],"priority":3}` + "\n" +
			"It may be compressed by gzip or zstd. In the Standard Workload Format, --resource is the column\n" +
			"whose value a job prefers.\n\n" +
			"Policies: fifo runs jobs in the order of their arrival, and does not know what they prefer. greedy\n" +
			"and delay:TIME are those of `weir job poll`. An agent runs --slots jobs at a time. If it has no\n" +
			"resource that a job prefers, the job takes longer by --load, and the agent keeps its resources: as\n" +
			"many as --associations, least recently used.\n\n" +
			"hit_percent is the share of the jobs with preferences that started on an agent that had a\n" +
			"preferred resource already. Waits are from arrival to start; late counts the jobs that waited\n" +
			"longer than --max-wait. utilisation_percent is the share of the time of all slots until the last\n" +
			"job has ended. -o wide adds the part of it for loading, and the kind of the job that waited longest.\n\n" +
			"--size TIME prints, for each policy, the least number of agents with which 95 % of the jobs wait\n" +
			"no longer than TIME.",
		Example: "  weir job backtest grid.swf.gz --run-scale 0.01 --agents 40 --picture waits.svg\n" +
			"  weir job backtest jobs.jsonl --agent-profile 4:gpu,ssd --agent-profile 20: -o json\n" +
			"  weir job backtest grid.swf.gz --run-scale 0.01 --policy greedy,delay:2s --size 30s",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0]) },
	}
	cli.RefuseServer(c, "it reads a file, and nothing of a process")
	f := c.Flags()
	f.StringSliceVar(&r.policies, "policy", []string{"fifo", "greedy", "delay:5s", "delay:20s"}, "policies: fifo, greedy, delay:TIME")
	f.IntVar(&r.agents, "agents", 0, "agents that have all required resources (default: busy for 80% of the time if each job loads)")
	f.StringArrayVar(&r.profiles, "agent-profile", nil, "a number of agents and what they have, such as 4:gpu,ssd; can be repeated")
	f.IntVar(&r.cfg.Slots, "slots", 1, "jobs that an agent runs at a time")
	f.IntVar(&r.cfg.Associations, "associations", 1, "preferred resources that an agent keeps: --associations of weir queue set")
	f.DurationVar(&r.cfg.Load, "load", 20*time.Second, "how long a job loads the resources that it prefers")
	f.DurationVar(&r.cfg.MaxWait, "max-wait", 10*time.Minute, "wait after which a job comes before others: --max-wait of weir queue set")
	f.Float64Var(&r.speed, "speed", 1, "divide arrival times by this number")
	f.Float64Var(&r.runScale, "run-scale", 1, "multiply run times by this number")
	f.StringVar(&r.opt.Resource, "resource", "site", "column whose value a job prefers: "+strings.Join(backtest.Columns(), ", "))
	f.IntVar(&r.opt.Limit, "limit", 1_000_000, "maximum number of jobs, the first ones of the file")
	f.DurationVar(&r.size, "size", 0, "find the least number of agents with which 95% of the jobs wait no longer")
	f.StringVar(&r.picture, "picture", "", "file for a picture of the waits, as SVG")
	c.MarkFlagsMutuallyExclusive("agents", "agent-profile", "size")
	return c
}

func (r *backtestRun) run(ctx context.Context, name string) error {
	policies, err := r.check()
	if err != nil {
		return err
	}
	trace, err := r.read(ctx, name)
	if err != nil {
		return err
	}
	r.setAgents(trace)
	results, met, err := r.simulate(ctx, trace, policies)
	if err != nil {
		return usage(err)
	}
	r.note(trace, results, met)
	if r.picture != "" {
		if err := cli.WriteFile(r.picture, func(w io.Writer) error { return backtest.SVG(w, results) }); err != nil {
			return cli.Fail(cli.ExitIO, "cannot write the picture", err, "check the path of --picture")
		}
		r.a.Notef("wrote %s", r.picture)
	}
	rows := make([]backtestRow, len(results))
	for i, x := range results {
		rows[i] = newBacktestRow(x)
	}
	return cli.PrintRows(r.a, rows)
}

// usage returns the usage error of a setting that the simulation refuses.
func usage(err error) error {
	if !errors.Is(err, backtest.ErrConfig) {
		return err
	}
	why := strings.TrimPrefix(err.Error(), backtest.ErrConfig.Error()+": ")
	return cli.UsageError(why, "`weir job backtest --help` describes the flags")
}

// check checks the flags, as far as that needs no trace.
func (r *backtestRun) check() (policies []backtest.Policy, err error) {
	if n := len(r.policies); n < 1 || n > backtest.MaxLines {
		return nil, cli.UsageError(fmt.Sprintf("--policy has %d policies", n), fmt.Sprintf("use 1 to %d", backtest.MaxLines))
	}
	for _, text := range r.policies {
		p, err := backtest.ParsePolicy(text)
		if err != nil {
			return nil, usage(err)
		}
		policies = append(policies, p)
	}
	switch {
	case r.opt.Limit < 1 || r.opt.Limit > maxTraceJobs:
		return nil, cli.UsageError(fmt.Sprintf("--limit %d is out of range", r.opt.Limit), fmt.Sprintf("use 1 to %d", maxTraceJobs))
	case r.agents < 0 || r.size < 0 || r.cfg.Slots < 1 || r.cfg.Associations < 1 || r.cfg.MaxWait <= 0:
		return nil, cli.UsageError("--agents, --slots, --associations, --max-wait or --size is not above 0",
			"use a value above 0, or leave the flag out")
	}
	for _, text := range r.profiles {
		number, list, ok := strings.Cut(text, ":")
		n, err := strconv.Atoi(number)
		if !ok || err != nil || n < 1 {
			return nil, cli.UsageError(fmt.Sprintf("--agent-profile %q is not a number of agents and what they have", text),
				"write --agent-profile 4:gpu,ssd, or 4: for agents without resources")
		}
		g := backtest.Group{N: n}
		if list != "" {
			g.Has = strings.Split(list, ",")
		}
		r.cfg.Agents = append(r.cfg.Agents, g)
	}
	return policies, nil
}

// read reads the trace, and notes what is not as it was recorded.
func (r *backtestRun) read(ctx context.Context, name string) (*backtest.Trace, error) {
	in, err := ingest.Open(ctx, name, r.a.Stdin)
	if err != nil {
		return nil, cli.Fail(0, "cannot open the trace", err, "check the path; - reads standard input")
	}
	defer func() { _ = in.Close() }()
	trace, err := backtest.Read(in, r.opt)
	switch {
	case errors.Is(err, backtest.ErrConfig):
		return nil, usage(err)
	case errors.Is(err, backtest.ErrTrace):
		return nil, cli.Fail(cli.ExitData, fmt.Sprintf("%q has no jobs", name), err,
			"give a file of the Standard Workload Format or of JSON lines; `weir job backtest --help` describes both")
	case err != nil:
		return nil, cli.Fail(0, "the trace was not read to its end", err, "check the file")
	}
	if trace.Bad > 0 {
		r.a.Notef("%d of %d lines are not jobs, and are left out: %s", trace.Bad, trace.Lines, trace.FirstBad)
	}
	if trace.Cut {
		r.a.Notef("the file has more jobs than --limit: its first %d are used", r.opt.Limit)
	}
	if trace.Unsorted {
		r.a.Notef("the jobs of the file are not in the order of their arrivals: they were sorted")
	}
	return trace, usage(trace.Scale(r.speed, r.runScale))
}

// setAgents sets agents that are alike, unless --agent-profile or --size are given.
func (r *backtestRun) setAgents(trace *backtest.Trace) {
	if r.size > 0 || len(r.cfg.Agents) > 0 {
		return
	}
	n := r.agents
	if n == 0 {
		n = trace.Agents(r.cfg.Load, r.cfg.Slots, busiest)
	}
	r.cfg.Agents = backtest.Alike(trace, n)
}

// simulate runs the policies at the same time. It returns for which of them the target of --size
// was met.
func (r *backtestRun) simulate(ctx context.Context, trace *backtest.Trace, policies []backtest.Policy) ([]*backtest.Result, []bool, error) {
	results, met, errs := make([]*backtest.Result, len(policies)), make([]bool, len(policies)), make([]error, len(policies))
	var runs sync.WaitGroup
	for i, p := range policies {
		runs.Go(func() {
			if r.size > 0 {
				results[i], met[i], errs[i] = trace.Size(ctx, r.cfg, p, r.size)
			} else {
				results[i], errs[i] = trace.Run(ctx, r.cfg, p)
			}
		})
	}
	runs.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, nil, err
		}
	}
	return results, met, nil
}

// note notes what was simulated.
func (r *backtestRun) note(trace *backtest.Trace, results []*backtest.Result, met []bool) {
	last := time.Duration(trace.Jobs[len(trace.Jobs)-1].AtMs) * time.Millisecond
	agents := ""
	if r.size == 0 {
		agents = fmt.Sprintf("agents: %d; ", results[0].Agents)
	}
	r.a.Notef("%d jobs of %d kinds arrive within %v; %sslots of an agent: %d; resources that it keeps: %d", len(trace.Jobs),
		len(trace.Classes), last, agents, r.cfg.Slots, r.cfg.Associations)
	for i, x := range results {
		if r.size > 0 && !met[i] {
			r.a.Notef("%s: no number of agents up to %d keeps the 95th percentile of waits at %v; the row is that of %d agents", x.Policy,
				x.Agents, r.size, x.Agents)
		}
	}
}

// backtestRow is a policy on a trace.
type backtestRow struct {
	Policy      string  `json:"policy"`
	Agents      int     `json:"agents"`
	Jobs        int     `json:"jobs"`
	Hits        float64 `json:"hit_percent"`
	Mean        float64 `json:"wait_mean_s"`
	P50         float64 `json:"wait_p50_s"`
	P95         float64 `json:"wait_p95_s"`
	P99         float64 `json:"wait_p99_s"`
	Max         float64 `json:"wait_max_s"`
	Late        int     `json:"late"`
	Utilisation float64 `json:"utilisation_percent"`
	Makespan    float64 `json:"makespan_s"`
	Loading     float64 `json:"loading_percent" table:"wide"`
	Longest     string  `json:"longest_wait_of" table:"wide"`
}

func newBacktestRow(r *backtest.Result) backtestRow {
	percent := func(share float64) float64 { return math.Round(1e4*share) / 100 }
	seconds := func(d time.Duration) float64 { return math.Round(1e3*d.Seconds()) / 1e3 }
	return backtestRow{
		Policy: r.Policy.String(), Agents: r.Agents, Jobs: r.Jobs, Hits: percent(r.HitRate()), Mean: seconds(r.Mean), P50: seconds(r.P50),
		P95: seconds(r.P95), P99: seconds(r.P99), Max: seconds(r.Max), Late: r.Late, Utilisation: percent(r.Utilisation),
		Makespan: seconds(r.Makespan), Loading: percent(r.Loading), Longest: r.LongestClass,
	}
}
