package node

import (
	"fmt"
	"time"
)

// ConfigError reports a part of the process that cannot be set up with the present settings.
type ConfigError struct {
	What string // what failed, such as "cannot read api.token_file"
	Err  error  // why
	Do   string // which settings to change and how; empty if Err states it
}

// Error is what failed and why, in one line.
func (e *ConfigError) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// RoleError reports a role that stopped. Err is an error of its runtime, such as
// processors.ErrLocked, or of its executors.
type RoleError struct {
	Role Role
	Err  error
}

// Error names the role and the cause.
func (e *RoleError) Error() string { return "role " + e.Role.Name + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *RoleError) Unwrap() error { return e.Err }

// StopTimeoutError reports a stop that took longer than processor.shutdown_timeout. No committed
// record is lost.
type StopTimeoutError struct {
	After time.Duration
}

// Error names the time limit.
func (e *StopTimeoutError) Error() string {
	return fmt.Sprintf("the process still commits or leaves the group after %s", e.After)
}

// roleFailure wraps an error of a role; nil stays nil.
func roleFailure(role Role, err error) error {
	if err == nil {
		return nil
	}
	return &RoleError{role, err}
}
