package connect

import (
	"context"
	"errors"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/lease/admin"
)

// OpenLeaseTable connects to the lease table of cfg. It sends no request.
func OpenLeaseTable(ctx context.Context, cfg config.Leases) (*node.LeaseTable, error) {
	l, err := node.ConnectLeaseTable(ctx, cfg)
	if err != nil {
		return nil, LeaseFailure("cannot connect to DynamoDB", err)
	}
	return l, nil
}

// leaseRemedy is the exit code and the remedy of a sentinel error.
type leaseRemedy struct {
	err  error
	code int
	do   string
}

// leaseRemedies returns the remedies of packages agent and admin. The first match counts.
func leaseRemedies() []leaseRemedy {
	return []leaseRemedy{
		{context.Canceled, cli.ExitInterrupted, "run the command again: completed steps are kept"},
		{admin.ErrInvalid, cli.ExitUsage, "correct the arguments"},
		{agent.ErrInvalid, cli.ExitUsage, "correct the arguments"},
		{admin.ErrNotFound, cli.ExitFailed, "check the spelling; `list` shows the existing names"},
		{agent.ErrUnknown, cli.ExitFailed, "create it first: `weir region create`, `weir client create` or `weir pool create`"},
		{admin.ErrExists, cli.ExitFailed, "`update` changes it; `weir resource update --revive` makes a retired resource available again"},
		{admin.ErrInUse, cli.ExitFailed, "end the use first: `weir lease release`, `weir resource delete` or `weir pool delete`"},
		{admin.ErrEarly, cli.ExitTempFail, "run the command again after that time, or with --wait"},
		{
			agent.ErrNoWriteLease, cli.ExitTempFail,
			"use another region; `weir region get` shows the write lease, `weir region adopt --undo` ends an adoption",
		},
		{admin.ErrVersionConflict, cli.ExitTempFail, "check the new value, then run the command again"},
		{
			admin.ErrHome, cli.ExitConfig,
			"set leases.home to the home region in all processes; `weir region home` shows it. " +
				"If the home region is lost: `weir region home NEW --dead-since TIME`",
		},
		{agent.ErrExhausted, cli.ExitTempFail, "try again later, or add resources with `weir resource import`"},
		{agent.ErrThrottled, cli.ExitTempFail, "try again in a moment"},
		{
			agent.ErrTable, cli.ExitConfig,
			"`weir table plan` shows what is missing, `weir table apply` creates it; `weir pool update` raises a quarantine that is too short",
		},
		{agent.ErrDenied, cli.ExitAuth, "give credentials as for any AWS tool; `weir table policy` prints the policy that they need"},
		{agent.ErrClock, cli.ExitConfig, "set the clock of this machine (NTP), or raise leases.skew in all processes"},
		{agent.ErrUnavailable, cli.ExitUnavailable, "check leases.regions and that DynamoDB can be reached; `weir dev` serves one"},
	}
}

// LeaseFailure gives the errors of packages agent and admin their exit codes and remedies. what is
// what failed. nil stays nil.
func LeaseFailure(what string, err error) error {
	if err == nil {
		return nil
	}
	for _, r := range leaseRemedies() {
		if errors.Is(err, r.err) {
			return cli.Fail(r.code, what, err, detailedRemedy(err, r.do))
		}
	}
	return cli.Fail(0, what, err, "")
}

// detailedRemedy returns the remedy of an error that carries more than its sentinel, else do.
func detailedRemedy(err error, do string) string {
	var home *admin.HomeError
	var unknown *agent.UnknownError
	switch {
	case errors.As(err, &home):
		return "set leases.home to " + home.Home + " in all processes; `weir region home` shows it. " +
			"If the home region is lost: `weir region home NEW --dead-since TIME`"
	case errors.Is(err, admin.ErrNoFence):
		return do + "; or assert with --dead-since TIME that nothing was written through the region since then"
	case errors.As(err, &unknown):
		return "create it with `weir " + unknown.Kind + " create`, or check the spelling"
	case errors.Is(err, agent.ErrAdopted):
		return "use another region; `weir region adopt REGION --undo` readmits it"
	}
	return do
}
