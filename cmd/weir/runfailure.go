package main

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir/processors"
)

// nodeFailure gives the errors of a node their exit codes and remedies. Other errors pass.
func nodeFailure(err error) error {
	var settings *ConfigError
	var stop *StopTimeoutError
	var role *RoleError
	switch {
	case errors.As(err, &settings):
		return fail(exitConfig, settings.What, settings.Err, settings.Do)
	case errors.As(err, &stop):
		return fail(exitFailed, "the stop took too long", stop,
			"nothing is lost: what was not committed is folded at the next start; processor.shutdown_timeout is how long it waits")
	case !errors.As(err, &role):
		return err
	case role.Role == roleExecutor:
		return fail(0, "an executor stopped", role.Err, "")
	case role.Role != roleSpend && errors.Is(err, processors.ErrTopics):
		return fail(exitUnavailable, "the topics of leases are not as they must be", role.Err,
			"`weir topics plan --for leases` shows the difference, `weir topics apply --for leases` makes it good; set leases.partitions to what the topics have, or make new topics")
	}
	return runFailure(role.Err)
}

// runFailure gives the errors of a runtime their exit codes and remedies.
func runFailure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, processors.ErrLocked):
		return fail(exitLocked, "cannot use the state directory", err, "stop the other process, or set another data_dir")
	case errors.Is(err, processors.ErrNewer), errors.Is(err, processors.ErrForeign):
		return fail(exitConfig, "cannot use the state directory", err, "see above: nothing was changed")
	case errors.Is(err, processors.ErrDiskFull):
		return fail(exitIO, "the disk of the state directory is full", err, "free space there, or give data_dir a larger disk, and start it again: nothing is lost, what the store lacks is read from the changelog")
	case errors.Is(err, processors.ErrDisk):
		return fail(exitIO, "the disk of the state directory fails", err, "see the system's log; start it again on a disk that works: the state is rebuilt from the changelog")
	case errors.Is(err, processors.ErrTopics):
		return fail(exitUnavailable, "the topics are not as they must be", err, "`weir topics plan` shows the difference, `weir topics apply` makes it good; another number of partitions is a matter of `weir rekey`")
	case errors.Is(err, processors.ErrTransactions):
		return fail(exitUnavailable, "the brokers cannot do this", err, "see above")
	}
	return fail(0, "the processor stopped", fmt.Errorf("%w", err), "")
}
