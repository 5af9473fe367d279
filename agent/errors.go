package agent

import (
	"errors"
	"fmt"
	"time"

	"github.com/weirhq/weir/lease/table"
)

// Errors to branch on, with errors.Is.
var (
	ErrInvalid      = errors.New("the request is not valid")                // what is asked for can never be; nothing was written
	ErrUnknown      = errors.New("no such client, pool or region")          // make it first: weir client|pool|region create
	ErrExhausted    = errors.New("no resource is available")                // errors.As gives an *ExhaustedError
	ErrReleased     = errors.New("the lease was given back")                // get it again
	ErrEnded        = errors.New("the lease has ended")                     // get it again
	ErrSuperseded   = errors.New("another region's lease of the key won")   // get it again: it gives that one
	ErrStale        = errors.New("the lease was renewed by another holder") // get it again for the new token
	ErrThrottled    = table.ErrThrottled                                    // back off
	ErrUnavailable  = table.ErrUnavailable                                  // the outcome may be unknown: ask again, which is safe
	ErrTable        = table.ErrTable                                        // weir table apply
	ErrDenied       = table.ErrDenied                                       // weir table policy prints what they must be allowed
	ErrClock        = table.ErrClock                                        // set it, or raise Config.Skew everywhere
	ErrNoWriteLease = table.ErrNoWriteLease                                 // use another region; the message says until when
	ErrClosed       = errors.New("the agent is closed")
)

// ExhaustedError says that a pool has no resource to lease here.
type ExhaustedError struct {
	Client, Pool, Region string
	// RetryAfter is when it is worth asking again.
	RetryAfter time.Duration
}

func (e *ExhaustedError) Error() string {
	return fmt.Sprintf("no resource of pool %s of client %s is available in %s: ask again after %v, or add resources (weir resource import)",
		e.Pool, e.Client, e.Region, e.RetryAfter)
}

// Is makes it an ErrExhausted.
func (e *ExhaustedError) Is(target error) bool { return target == ErrExhausted }
