// Package worker runs the jobs of a queue: it is the agent of job queues in Go.
//
//	w, err := worker.New(worker.Config{
//		Servers: []string{"http://127.0.0.1:8080"}, Queue: "images", Has: []string{"gpu"}, Slots: 4,
//		Run: func(ctx context.Context, j *worker.Job) (result []byte, err error) {
//			return render(ctx, j.Payload)
//		},
//	})
//	// handle err
//	err = w.Run(ctx) // until ctx ends
//
// A worker has one long poll at a time, for as many jobs as it has free slots, and a goroutine for
// each job:
//
//	             ┌──────────── free slots ◀─────────────┐
//	poll ─▶ jobs ┴▶ Config.Run, one goroutine a job ─▶ reports ─▶ ReportJobs, several at a time
//	                    ▲                     │
//	                    │ ctx ends: ErrLost   └ in the lease until the report has an answer
//	heartbeats ─────────┘ each third of a lease, for all jobs at once
//
// # What a job can rely on
//
//   - WORKER-1: The context of a job ends, with the cause ErrLost, at the latest when its lease has
//     ended: when the queue reports that the attempt is over, and when no heartbeat has succeeded
//     for as long as the lease. The clock of the server does not matter.
//   - WORKER-2: An attempt is reported until the report has an answer, the lease has ended, or
//     Config.Grace was over for 5 s. A result that the queue has refused is not reported again.
//   - WORKER-3: At most Config.Slots jobs run at a time.
//   - WORKER-4: Run returns after all jobs and goroutines of the worker.
//
// Execution is at least once: after a crash, or a lease that has ended, another attempt runs. Use
// Job.Token where a job acts on another system.
//
// # Results
//
//   - nil: the job is done, with the result of Config.Run.
//   - an error: the attempt failed. Another one follows after a backoff, up to the maximum of the
//     queue. A panic is such an error, with the stack.
//   - Final(err): no other attempt would succeed. The job fails.
//   - Return(err): the worker could not run the job. The attempt does not count, and the queue
//     gives the job to other agents for a time.
//
// # Stop
//
// When the context of Run ends, the worker polls no more, and waits for its jobs for up to
// Config.Grace. Then their contexts end with the cause ErrStopping, and jobs that return an error
// are returned to the queue.
//
// # What it does not do
//
// It does not create the queue, nor submit jobs. It does not kill a job that ignores its context:
// Run waits for it.
package worker
