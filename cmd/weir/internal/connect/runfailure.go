package connect

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/processors"
)

// NodeFailure gives the errors of a node their exit codes and remedies. Other errors pass.
func NodeFailure(err error) error {
	var settings *node.ConfigError
	var stop *node.StopTimeoutError
	var role *node.RoleError
	switch {
	case errors.As(err, &settings):
		return cli.Fail(cli.ExitConfig, settings.What, settings.Err, settings.Do)
	case errors.As(err, &stop):
		return cli.Fail(cli.ExitFailed, "the stop took too long", stop,
			"nothing is lost: what was not committed is folded at the next start; processor.shutdown_timeout is how long it waits")
	case !errors.As(err, &role):
		return err
	case role.Role == node.RoleExecutor:
		return cli.Fail(0, "an executor stopped", role.Err, "")
	case role.Role != node.RoleSpend && errors.Is(err, processors.ErrTopics):
		return cli.Fail(cli.ExitUnavailable, "the topics of leases are not as they must be", role.Err,
			"`weir topics plan --for leases` shows the difference, `weir topics apply --for leases` makes it good; set leases.partitions to what the topics have, or make new topics")
	}
	return RunFailure(role.Err)
}

// RunFailure gives the errors of a runtime their exit codes and remedies.
func RunFailure(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, processors.ErrLocked):
		return cli.Fail(cli.ExitLocked, "cannot use the state directory", err, "stop the other process, or set another data_dir")
	case errors.Is(err, processors.ErrNewer), errors.Is(err, processors.ErrForeign):
		return cli.Fail(cli.ExitConfig, "cannot use the state directory", err, "see above: nothing was changed")
	case errors.Is(err, processors.ErrDiskFull):
		return cli.Fail(cli.ExitIO, "the disk of the state directory is full", err, "free space there, or give data_dir a larger disk, and start it again: nothing is lost, what the store lacks is read from the changelog")
	case errors.Is(err, processors.ErrDisk):
		return cli.Fail(cli.ExitIO, "the disk of the state directory fails", err, "see the system's log; start it again on a disk that works: the state is rebuilt from the changelog")
	case errors.Is(err, processors.ErrTopics):
		return cli.Fail(cli.ExitUnavailable, "the topics are not as they must be", err, "`weir topics plan` shows the difference, `weir topics apply` makes it good; another number of partitions is a matter of `weir repartition`")
	case errors.Is(err, processors.ErrTransactions):
		return cli.Fail(cli.ExitUnavailable, "the brokers cannot do this", err, "see above")
	}
	return cli.Fail(0, "the processor stopped", fmt.Errorf("%w", err), "")
}
