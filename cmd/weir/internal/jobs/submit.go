package jobs

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/jobqueue/queues"
)

// submission is what the flags of `weir job submit` describe.
type submission struct {
	job     weirpb.NewJob
	payload string
	file    string
	in      time.Duration
}

func newSubmitCmd(a *cli.App) *cobra.Command {
	var x submission
	c := &cobra.Command{
		Use:   "submit QUEUE",
		Short: "Submit jobs",
		Long: "Submit one job, or with --file one for each line of a file: a JSON object such as\n" +
			`{"require":["gpu"],"payload":"aGVsbG8="}, with the payload in base64. The fields are those of` + "\n" +
			"NewJob in api/weirpb/jobservice.proto. The ids are printed in the order of the lines.",
		Example: "  weir job submit images --require gpu --payload '{\"image\":7}'\n" +
			"  weir job submit images --file jobs.jsonl -o jsonl",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return submit(cmd, a, &x, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&x.file, "file", "", "file with a JSON object for each job; - reads standard input")
	f.StringSliceVar(&x.job.Require, "require", nil, "resources that an agent must have")
	f.StringSliceVar(&x.job.Prefer, "prefer", nil, "resources of which an agent should have one")
	f.Uint32Var(&x.job.Priority, "priority", 0, "0 to 15; greater is more urgent")
	f.DurationVar(&x.in, "in", 0, "earliest start, from now on")
	f.StringSliceVar(&x.job.After, "after", nil, "ids of jobs that must be done before")
	f.StringVar(&x.job.Key, "key", "", "idempotency key: of the jobs with one key, the queue has the first")
	f.StringVar(&x.job.Group, "group", "", "set of jobs that are listed and canceled together")
	f.StringVar(&x.payload, "payload", "", fmt.Sprintf("for the agent; at most %d bytes", queues.MaxPayload))
	for _, name := range []string{"require", "prefer", "priority", "in", "after", "key", "group", "payload"} {
		c.MarkFlagsMutuallyExclusive("file", name)
	}
	return c
}

// submittedRow is a job that was submitted.
type submittedRow struct {
	Job string `json:"job"`
}

func submit(cmd *cobra.Command, a *cli.App, x *submission, queue string) error {
	list := []*weirpb.NewJob{&x.job}
	if x.file != "" {
		var err error
		if list, err = readJobs(cmd, x.file); err != nil {
			return err
		}
	} else if x.job.Payload = []byte(x.payload); x.in > 0 {
		x.job.NotBeforeMs = time.Now().Add(x.in).UnixMilli()
	}
	return withQueue(a, queue, func(r request) error { return r.submit(cmd.Context(), list) })
}

// submit submits jobs, and prints their ids.
func (r request) submit(ctx context.Context, list []*weirpb.NewJob) error {
	var rows []submittedRow
	for from := 0; from < len(list); from += api.MaxJobs {
		part := list[from:min(from+api.MaxJobs, len(list))]
		res, err := r.client.SubmitJobs(ctx, &weirpb.SubmitJobsRequest{Queue: r.queue, Jobs: part})
		if err != nil {
			if from > 0 {
				r.Notef("%d of %d jobs were submitted before the error", from, len(list))
			}
			return err
		}
		for _, id := range res.GetIds() {
			rows = append(rows, submittedRow{id})
		}
	}
	return cli.PrintRows(r.App, rows)
}

// maxLine is the maximum length of a line of a file, in bytes: a payload in base64, and names.
const maxLine = 64 << 10

// readJobs reads the jobs of a file. All lines are checked before the first job is written.
func readJobs(cmd *cobra.Command, name string) (list []*weirpb.NewJob, err error) {
	in := cmd.InOrStdin()
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, cli.Fail(cli.ExitUsage, "cannot read the jobs", err, "")
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if len(lines.Bytes()) == 0 {
			continue
		}
		job := &weirpb.NewJob{}
		if err := protojson.Unmarshal(lines.Bytes(), job); err != nil {
			return nil, cli.Fail(cli.ExitData, fmt.Sprintf("line %d is not a job, and nothing was submitted", n), err,
				"correct the line, and submit the file again")
		}
		list = append(list, job)
	}
	if err := lines.Err(); err != nil {
		return nil, cli.Fail(cli.ExitData, "cannot read the jobs, and nothing was submitted", err,
			fmt.Sprintf("a line has at most %d bytes", maxLine))
	}
	return list, nil
}
