package jobs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/jobqueue/jobpb"
	"github.com/weirhq/weir/jobqueue/queues"
)

// submission is what the flags of `weir job submit` describe.
type submission struct {
	job     jobpb.NewJob
	payload string
	file    string
	in      time.Duration
	wait    time.Duration
}

func newSubmitCmd(a *cli.App) *cobra.Command {
	var x submission
	c := &cobra.Command{
		Use:   "submit QUEUE",
		Short: "Submit jobs",
		Long: "Submit one job, or with --file one for each line of a file: a JSON object such as\n" +
			`{"require":["gpu"],"payload":"aGVsbG8="}, with the payload in base64. The fields are those of` + "\n" +
			"NewJob in jobqueue/jobpb/jobservice.proto. The ids are printed in the order of the lines.\n\n" +
			"With --wait it waits until the jobs have ended, prints them, and fails unless all are done.",
		Example: "  weir job submit images --require gpu --payload '{\"image\":7}'\n" +
			"  weir job submit images --file jobs.jsonl -o jsonl\n" +
			"  weir job submit images --payload hello --wait 5m",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return submit(cmd, a, &x, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&x.file, "file", "", "file with a JSON object for each job; - reads standard input")
	f.StringSliceVar(&x.job.Require, "require", nil, "resources that an agent must have")
	f.StringSliceVar(&x.job.Prefer, "prefer", nil, "resources of which an agent should have one")
	f.Uint32Var(&x.job.Priority, "priority", 0, "0 to 15; greater is more urgent")
	f.DurationVar(&x.in, "in", 0, "earliest start, from now on")
	f.DurationVar(&x.wait, "wait", 0, "wait until the jobs have ended, for this time at most")
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
	list := []*jobpb.NewJob{&x.job}
	if x.file != "" {
		var err error
		if list, err = readJobs(cmd, x.file); err != nil {
			return err
		}
	} else if x.job.Payload = []byte(x.payload); x.in > 0 {
		x.job.NotBeforeMs = time.Now().Add(x.in).UnixMilli()
	}
	return withQueue(a, queue, func(r request) error { return r.submit(cmd.Context(), list, x.wait) })
}

// maxRequest is the size of a request from which on no further job is added, in bytes. The server
// takes 1 MiB.
const maxRequest = 512 << 10

// submit submits jobs, and prints the ids of those that were submitted, also before an error. With
// wait it waits for their end, and prints the jobs.
func (r request) submit(ctx context.Context, list []*jobpb.NewJob, wait time.Duration) (failed error) {
	var rows []submittedRow
	var ids []string
	for len(list) > 0 {
		req, size := &jobpb.SubmitJobsRequest{Queue: r.queue}, 0
		for len(list) > 0 && len(req.GetJobs()) < api.MaxJobs && size < maxRequest {
			req.Jobs, size = append(req.Jobs, list[0]), size+proto.Size(list[0])
			list = list[1:]
		}
		res, err := r.client.SubmitJobs(ctx, req)
		if err != nil {
			if failed = err; len(rows) > 0 {
				r.Notef("the jobs that are listed were submitted before the error, and %d were not, or may be",
					len(list)+len(req.GetJobs()))
			}
			break
		}
		for _, id := range res.GetIds() {
			rows, ids = append(rows, submittedRow{id}), append(ids, id)
		}
	}
	if failed != nil && len(rows) == 0 {
		return failed
	}
	if wait > 0 && failed == nil {
		var ended []*jobpb.Job
		if ended, failed = r.await(ctx, ids, wait); failed == nil {
			return printAwaited(r.App, ended)
		}
	}
	return errors.Join(cli.PrintRows(r.App, rows), failed)
}

// maxLine is the maximum length of a line of a file, in bytes: a payload in base64, and names.
const maxLine = 64 << 10

// readJobs reads the jobs of a file. All lines are checked before the first job is written.
func readJobs(cmd *cobra.Command, name string) (list []*jobpb.NewJob, err error) {
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
		job := &jobpb.NewJob{}
		if err := protojson.Unmarshal(lines.Bytes(), job); err != nil {
			return nil, cli.Fail(cli.ExitData, fmt.Sprintf("line %d is not a job, and nothing was submitted", n), err,
				"correct the line, and submit the file again")
		}
		if err := api.CheckJob(job); err != nil {
			return nil, cli.Fail(cli.ExitData, fmt.Sprintf("the job of line %d is refused, and nothing was submitted", n), err,
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
