package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease/table"
)

// Errors to test with errors.Is. The comments state what to do.
var (
	// ErrInvalid: an argument or a Config field is invalid; the error names it. Nothing was
	// written.
	ErrInvalid = errors.New("invalid request")
	// ErrUnknown: the client, pool or region does not exist. An administrator has to create it.
	// errors.As finds an *UnknownError.
	ErrUnknown = errors.New("unknown client, pool or region")
	// ErrExhausted: the pool has no free resource in the region. Retry later. errors.As finds an
	// *ExhaustedError with the time.
	ErrExhausted = errors.New("no resource is available")
	// ErrReleased: another user of the key released the lease. Stop using the resource; GetLease
	// returns a new lease.
	ErrReleased = errors.New("another user of the key released the lease")
	// ErrEnded: the lease has ended. Stop using the resource; GetLease returns a new lease.
	ErrEnded = errors.New("the lease has ended")
	// ErrSuperseded: two regions leased the key, and the other region's lease is valid. Stop using
	// the resource; GetLease returns the valid lease.
	ErrSuperseded = errors.New("the lease was superseded by another region's lease of the key")
	// ErrStale: another user of the key renewed the lease, so this token is no longer the greatest.
	// GetLease returns the lease with its new token.
	ErrStale = errors.New("another user of the key renewed the lease")
	// ErrThrottled: DynamoDB throttled the request, and all attempts. Retry later.
	ErrThrottled = table.ErrThrottled
	// ErrUnavailable: DynamoDB does not answer. The outcome may be unknown. Calling again is safe.
	ErrUnavailable = table.ErrUnavailable
	// ErrTable: the table is missing, or it is not a valid lease table. The error names the row.
	ErrTable = table.ErrTable
	// ErrDenied: there are no credentials, or they do not permit the request.
	ErrDenied = table.ErrDenied
	// ErrClock: this machine's clock differs from DynamoDB's by more than Config.Skew. Set the
	// clock, or raise Config.Skew in all processes.
	ErrClock = table.ErrClock
	// ErrNoWriteLease: the region's write lease has ended, so no lease can begin or be renewed
	// there. Use another region.
	ErrNoWriteLease = table.ErrNoWriteLease
	// ErrAdopted comes with ErrNoWriteLease: another region has adopted the region's resources. An
	// administrator has to readmit the region.
	ErrAdopted = table.ErrAdopted
	// ErrClosed: the agent is closed.
	ErrClosed = errors.New("the agent is closed")
)

// ExhaustedError means that a pool has no free resource in the agent's region. It is an
// ErrExhausted.
type ExhaustedError struct {
	Client, Pool, Region string
	// RetryAfter is the time after which a retry makes sense.
	RetryAfter time.Duration
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("pool %q of client %q has no available resource in %s: retry after %v, or add resources",
		e.Pool, e.Client, e.Region, e.RetryAfter)
}

// Is reports that the error is an ErrExhausted.
func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }

// UnknownError names a client, pool or region that does not exist. It is an ErrUnknown.
type UnknownError struct {
	Kind   string // client, pool or region
	Name   string
	Client string // of a pool
}

func (e *UnknownError) Error() string {
	if e.Kind == "pool" {
		return fmt.Sprintf("client %q has no pool %q in the lease table: create it, or correct the name", e.Client, e.Name)
	}
	return fmt.Sprintf("the lease table has no %s %q: create it, or correct the name", e.Kind, e.Name)
}

// Is reports that the error is an ErrUnknown.
func (e *UnknownError) Is(target error) bool { return target == ErrUnknown }
