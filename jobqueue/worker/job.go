package worker

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/internal/shorten"
	"github.com/weirhq/weir/jobqueue/jobpb"
)

// Job is an attempt of a job.
type Job struct {
	ID        string
	Attempt   int
	Payload   []byte
	Require   []string
	Prefer    []string
	Key       string
	Group     string
	Submitted time.Time

	progress atomic.Pointer[string]
}

// maxProgress is how many bytes of the progress of a job the queue keeps.
const maxProgress = 200

// Progress sets what people see of the job while it runs, such as "page 7 of 90": the next
// heartbeats have it, each after a third of the lease. The first 200 bytes are sent.
func (j *Job) Progress(text string) {
	text = shorten.Text(text, maxProgress)
	j.progress.Store(&text)
}

func newJob(m *jobpb.StartedJob) *Job {
	return &Job{
		ID: m.GetId(), Attempt: int(m.GetAttempt()), Payload: m.GetPayload(), Require: m.GetRequire(), Prefer: m.GetPrefer(),
		Key: m.GetKey(), Group: m.GetGroup(), Submitted: time.UnixMilli(m.GetSubmittedMs()),
	}
}

// Token identifies the attempt: ID and number. Another system that has seen it, or one of the same
// job with a greater number, must refuse it. Then the effect of the job there is exactly once.
func (j *Job) Token() string { return fmt.Sprintf("%s/%d", j.ID, j.Attempt) }

var (
	// ErrLost is the cause of the end of a job's context when its attempt is over.
	ErrLost = errors.New("the attempt is over: its lease has ended, or the job was canceled or returned")
	// ErrStopping is the cause of the end of a job's context when the worker stops.
	ErrStopping = errors.New("the worker stops")
)

// finalError is an error of Final.
type finalError struct{ error }

func (e finalError) Unwrap() error { return e.error }

// Final returns err as one after which no other attempt would succeed: the job fails.
func Final(err error) error { return finalError{err} }

// returnedError is an error of Return.
type returnedError struct{ error }

func (e returnedError) Unwrap() error { return e.error }

// Return returns err as the reason why the worker could not run the job: the attempt does not
// count.
func Return(err error) error { return returnedError{err} }

// maxResult and maxError are the greatest results and texts of errors that the queue takes, in
// bytes.
const (
	maxResult = 4 << 10
	maxError  = 4 << 10
)

// report returns the report of an attempt.
func (j *Job) report(result []byte, err error, stopping bool) *jobpb.JobReport {
	r := &jobpb.JobReport{Id: j.ID, Attempt: uint32(j.Attempt)}
	if err == nil && len(result) > maxResult {
		err = Final(fmt.Errorf("the result has %d bytes, and the maximum is %d: store it in another system, and return a reference",
			len(result), maxResult))
	}
	switch {
	case err == nil:
		r.Result = result
	case stopping || errors.As(err, new(returnedError)):
		r.Returned = true
	default:
		r.Final = errors.As(err, new(finalError))
		if r.Error = err.Error(); r.Error == "" {
			r.Error = "an error without a text"
		}
		r.Error = shorten.Text(r.Error, maxError)
	}
	return r
}
