package connect

import (
	"context"
	"errors"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
)

// LeaseTable connects to the table of leases that the configuration names.
func LeaseTable(ctx context.Context, a *cli.App) (*node.LeaseTable, error) {
	cfg, err := a.LoadConfig()
	if err != nil {
		return nil, err
	}
	return OpenLeaseTable(ctx, cfg.Leases)
}

// OpenLeaseTable is connectLeases, with its errors explained.
func OpenLeaseTable(ctx context.Context, cfg config.Leases) (*node.LeaseTable, error) {
	l, err := node.ConnectLeaseTable(ctx, cfg)
	if err != nil {
		return nil, LeaseFailure("cannot reach DynamoDB", err)
	}
	return l, nil
}

// LeaseFailure explains an error of package agent or admin.
func LeaseFailure(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return cli.Fail(cli.ExitInterrupted, what, err, "run it again: what was done is kept")
	}
	for _, k := range []struct {
		is   error
		code int
		do   string
	}{
		{admin.ErrInvalid, cli.ExitUsage, "correct the arguments"},
		{agent.ErrInvalid, cli.ExitUsage, "correct the arguments"},
		{admin.ErrNotFound, cli.ExitFailed, "check the spelling; `list` shows what there is"},
		{agent.ErrUnknown, cli.ExitFailed, "make it first, as the message says"},
		{admin.ErrExists, cli.ExitFailed, "use `update` to change it"},
		{admin.ErrInUse, cli.ExitFailed, "do first what the message says"},
		{admin.ErrEarly, cli.ExitTempFail, "run it again then, or with --wait"},
		{agent.ErrNoWriteLease, cli.ExitTempFail, "use another region, or see `weir region get`"},
		{admin.ErrChanged, cli.ExitTempFail, "look at it again, then run the command again"},
		{admin.ErrHome, cli.ExitConfig, "do what the message says; `weir region home` shows what the table says of it"},
		{agent.ErrExhausted, cli.ExitTempFail, "try again later, or put resources in with `weir resource import`"},
		{agent.ErrThrottled, cli.ExitTempFail, "try again in a moment"},
		{agent.ErrTable, cli.ExitConfig, "`weir table plan` says what is missing"},
		{agent.ErrDenied, cli.ExitAuth, "give credentials as for any AWS tool; `weir table policy` prints what they must be allowed"},
		{agent.ErrClock, cli.ExitConfig, "set the clock of this machine"},
		{agent.ErrUnavailable, cli.ExitUnavailable, "check leases.regions and that DynamoDB can be reached; `weir dev` serves one"},
	} {
		if errors.Is(err, k.is) {
			return cli.Fail(k.code, what, err, k.do)
		}
	}
	return cli.Fail(0, what, err, "")
}
