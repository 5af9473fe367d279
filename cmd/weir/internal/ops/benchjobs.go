package ops

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/bench/broker"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// newBenchJobsCmd returns `weir bench jobs`.
func newBenchJobsCmd(a *cli.App) *cobra.Command {
	b := broker.NewJobsBench()
	c := &cobra.Command{
		Use:   "jobs",
		Short: "Measure job queues: life cycles, latency, reads of the status, and agents that wait",
		Long: "Measure job queues with submitters and agents that use the API over HTTP, in the same process:\n\n" +
			"  life cycles   jobs per second that are submitted, started and reported as done, each committed.\n" +
			"                Then the same beside readers of the status of jobs that are done\n" +
			"  fixed load    --steady jobs per second, alone and beside readers of the status\n" +
			"  latency       from the time of a job in a schedule, at which it should be submitted, until an\n" +
			"                agent has it. A late submit counts from the schedule, too\n" +
			"  agents        CPU time of the process while agents wait at an idle queue, theirs included\n\n" +
			"A measurement under load lasts --duration; a third more passes before, untimed. The benchmark\n" +
			"fails unless each job is done once, by the reports of the agents and by the counts of the queue.\n" +
			"It prints medians of the rounds. The names of the topics begin with weir.bench; they are deleted\n" +
			"at the end. A request has at most 1 MiB: use a smaller --batch with large payloads.",
		Example: "  weir bench jobs --brokers 127.0.0.1:9092 --partitions 4\n" +
			"  weir bench jobs --duration 10m --rounds 1 --rate 0 --parked 0 --readers 0 --cpu-profile jobs.prof",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			e, err := newBenchEnv(cmd, a)
			if err != nil {
				return err
			}
			rows, err := b.Rows(cmd.Context(), e)
			if err != nil {
				return cli.Fail(0, "the benchmark failed", err, "`weir doctor` checks the brokers")
			}
			return cli.PrintRows(a, rows)
		},
	}
	f := c.Flags()
	f.IntVar(&b.Partitions, "partitions", b.Partitions, "number of partitions of the queue")
	f.IntVar(&b.Submitters, "submitters", b.Submitters, "number of submitters; each sends one request at a time")
	f.IntVar(&b.Agents, "agents", b.Agents, "number of agents")
	f.IntVar(&b.Batch, "batch", b.Batch, "number of jobs of a request, 1 to 1000: of a submit exactly, of a poll at most")
	f.IntVar(&b.Payload, "payload", b.Payload, "size of the payload of a job in bytes, 8 to 4096")
	f.DurationVar(&b.Duration, "duration", b.Duration, "duration of each measurement under load")
	f.IntVar(&b.Rate, "rate", b.Rate, "jobs per second of the measurement of the latency; 0: leave it out")
	f.BoolVar(&b.Events, "events", false, "the queue has events: its changes are records of a topic")
	f.IntVar(&b.Steady, "steady", b.Steady, "jobs per second of the fixed load; 0: leave this measurement out")
	f.IntVar(&b.Parked, "parked", b.Parked, "number of agents that wait at an idle queue; 0: leave this measurement out")
	f.DurationVar(&b.Idle, "idle", b.Idle, "for how long the CPU time is measured while agents wait")
	f.IntVar(&b.Readers, "readers", b.Readers, "number of readers of the status of jobs; 0: leave this measurement out")
	f.IntVar(&b.Rounds, "rounds", b.Rounds, "number of rounds")
	f.StringVar(&b.Profile, "cpu-profile", "", "file for a CPU profile of the life cycles in the last round, for go tool pprof")
	return c
}
