package jobqueue

import (
	"errors"
	"fmt"
)

// The reasons for which a request is refused. A refused request changes nothing.
var (
	// ErrUnknown: no job has the id (404).
	ErrUnknown = errors.New("no job has this id")
	// ErrEvicted: the job has ended and was evicted. Only its state is known (410).
	ErrEvicted = errors.New("the job has ended and was evicted")
	// ErrStale: the attempt is over: its lease ended, or the job was canceled or returned (410).
	ErrStale = errors.New("the attempt is over")
	// ErrIllegal: the state of the job does not permit the event (409).
	ErrIllegal = errors.New("the state of the job does not permit this")
	// ErrOrder: the id is not greater than all ids before, or too far from them.
	ErrOrder = errors.New("ids must ascend, in steps of less than 2^38")
	// ErrKeyReused: the idempotency key belongs to a job with other requirements (409).
	ErrKeyReused = errors.New("the idempotency key belongs to a job with another specification")
	// ErrAgent: the agent is not declared, or was declared down (404).
	ErrAgent = errors.New("the agent is not declared: declare it again")
	// ErrAttempts: the job had 255 attempts, the most that a job can have (409).
	ErrAttempts = errors.New("the job had 255 attempts: submit it again")
	// ErrInvalid: a specification, a profile or a decision is malformed (400).
	ErrInvalid = errors.New("invalid")
)

// Error is a refused event of a job. errors.Is finds the reason in it.
type Error struct {
	ID      ID
	State   State
	Event   Event
	Attempt uint8 // of the request; 0 if the event has no attempt
	Current uint8 // last attempt of the job
	Reason  error
}

// Error states the event, the job with its state, and the reason.
func (e *Error) Error() string {
	if e.Attempt != 0 {
		return fmt.Sprintf("%s of job %d, attempt %d: %v: it is %s, its last attempt is %d", e.Event, e.ID, e.Attempt, e.Reason,
			e.State, e.Current)
	}
	return fmt.Sprintf("%s of job %d: %v: it is %s", e.Event, e.ID, e.Reason, e.State)
}

// Unwrap returns the reason.
func (e *Error) Unwrap() error { return e.Reason }
