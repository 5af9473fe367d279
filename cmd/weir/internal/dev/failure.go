package dev

import (
	"errors"
	"fmt"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/processors/devbroker"
)

// brokerFailure gives the errors of the dev broker's start their exit codes and remedies.
func brokerFailure(err error) error {
	const what = "cannot start the dev broker"
	switch {
	case errors.Is(err, devbroker.ErrLocked):
		return cli.Fail(cli.ExitLocked, what, err, "stop the other process, or give another --data-dir")
	case errors.Is(err, devbroker.ErrInUse):
		return cli.Fail(cli.ExitUnavailable, what, err, "stop the other process, or give another --kafka-port")
	}
	return cli.Fail(0, what, err, "give another --data-dir")
}

// diskFailure returns the failure of a run whose dev broker found the disk full. Every other part
// only saw that the broker failed. Without a full disk it returns err.
func diskFailure(err, full error) error {
	if err == nil || full == nil {
		return err
	}
	return &cli.Failure{
		Code: cli.ExitIO, What: "the disk of data_dir is full", Why: fmt.Sprintf("%v; after it: %v", full, err),
		Do: "free space there, or give another --data-dir; then start `weir dev` again: no committed data is lost",
	}
}

// checkPort returns a usage error if the value of a flag is not a port. 0 means the default.
func checkPort(flag string, port int) error {
	if port < 0 || port > 65535 {
		return cli.UsageError(fmt.Sprintf("%s %d is not a port", flag, port), "use 1 to 65535")
	}
	return nil
}
