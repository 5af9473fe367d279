package node

import (
	"fmt"
	"time"
)

// ConfigError reports a part of the process that cannot be set up with the settings as they are.
type ConfigError struct {
	What string // what failed, such as "cannot read api.token_file"
	Err  error  // why
	Do   string // which settings to change and how; empty if Err says it
}

// Error is what failed and why, in one line.
func (e *ConfigError) Error() string { return e.What + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// RoleError reports a role that stopped. Err is an error of its runtime, such as processors.ErrLocked, or of its executors.
type RoleError struct {
	Role string
	Err  error
}

// Error names the role and the cause.
func (e *RoleError) Error() string { return "role " + e.Role + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *RoleError) Unwrap() error { return e.Err }

// StopTimeoutError reports a stop that did not end in processor.shutdown_timeout. No committed record is lost.
type StopTimeoutError struct {
	After time.Duration
}

// Error says how long the stop was waited for.
func (e *StopTimeoutError) Error() string {
	return fmt.Sprintf("after %s it still commits or leaves the group", e.After)
}

// roleFailure wraps an error of a role; nil stays nil.
func roleFailure(role string, err error) error {
	if err == nil {
		return nil
	}
	return &RoleError{role, err}
}
