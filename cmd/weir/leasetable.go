package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/agent"
	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/lease/table"
)

// leaseFlags are those of every command that looks at the table of leases.
func leaseFlags(a *app, f *pflag.FlagSet) {
	f.StringSlice("regions", nil, "regions of the table, name or name=URL, the same in the same order everywhere (default: leases.regions)")
	a.bind(f, "regions", "leases.regions")
	f.String("home", "", "region that keeps the settings, the same everywhere (default: leases.home, then the first of leases.regions)")
	a.bind(f, "home", "leases.home")
	tableFlag(a, f)
}

func tableFlag(a *app, f *pflag.FlagSet) {
	f.String("table", "", "name of the table (default: leases.table)")
	a.bind(f, "table", "leases.table")
}

// regionFlag is of commands that are about one region.
func regionFlag(a *app, f *pflag.FlagSet, what string) {
	f.String("region", "", what+" (default: leases.region, then the first of leases.regions)")
	a.bind(f, "region", "leases.region")
}

// leases is the way to the table of leases.
type leases struct {
	*admin.Admin
	cfg        config.Leases
	connection *table.Connection
}

func leaseTable(ctx context.Context, a *app) (*leases, error) {
	cfg, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	return openLeases(ctx, cfg.Leases)
}

func connectLeases(ctx context.Context, cfg config.Leases) (*leases, error) {
	regions, endpoints := cfg.RegionEndpoints()
	connection, err := table.Connect(ctx, endpoints)
	if err != nil {
		return nil, err
	}
	l := &leases{cfg: cfg, connection: connection}
	l.Admin, err = admin.New(admin.Config{
		Table: cfg.Table, Regions: regions, Home: cfg.HomeRegion(), Client: connection.Client, Streams: connection.Streams, Skew: cfg.Skew, Timeout: cfg.Timeout,
	})
	return l, err
}

// openLeases is connectLeases, with its errors explained.
func openLeases(ctx context.Context, cfg config.Leases) (*leases, error) {
	l, err := connectLeases(ctx, cfg)
	if err != nil {
		return nil, leaseFailure("cannot reach DynamoDB", err)
	}
	return l, nil
}

// agent is one of a region.
func (l *leases) agent(region string) (*agent.Agent, error) {
	return agent.New(agent.Config{Region: region, Table: l.cfg.Table, Client: l.connection.Client, Skew: l.cfg.Skew, Timeout: l.cfg.Timeout})
}

// leaseFailure explains an error of package agent or admin.
func leaseFailure(what string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, context.Canceled) {
		return fail(exitInterrupted, what, err, "run it again: what was done is kept")
	}
	for _, k := range []struct {
		is   error
		code int
		do   string
	}{
		{admin.ErrInvalid, exitUsage, "correct the arguments"},
		{agent.ErrInvalid, exitUsage, "correct the arguments"},
		{admin.ErrNotFound, exitFailed, "check the spelling; `list` shows what there is"},
		{agent.ErrUnknown, exitFailed, "make it first, as the message says"},
		{admin.ErrExists, exitFailed, "use `update` to change it"},
		{admin.ErrInUse, exitFailed, "do first what the message says"},
		{admin.ErrEarly, exitLater, "run it again then, or with --wait"},
		{agent.ErrNoWriteLease, exitLater, "use another region, or see `weir region get`"},
		{admin.ErrChanged, exitLater, "look at it again, then run the command again"},
		{admin.ErrHome, exitConfig, "do what the message says; `weir region home` shows what the table says of it"},
		{agent.ErrExhausted, exitLater, "try again later, or put resources in with `weir resource import`"},
		{agent.ErrThrottled, exitLater, "try again in a moment"},
		{agent.ErrTable, exitConfig, "`weir table plan` says what is missing"},
		{agent.ErrDenied, exitAuth, "give credentials as for any AWS tool; `weir table policy` prints what they must be allowed"},
		{agent.ErrClock, exitConfig, "set the clock of this machine"},
		{agent.ErrUnavailable, exitUnavailable, "check leases.regions and that DynamoDB can be reached; `weir dev` serves one"},
	} {
		if errors.Is(err, k.is) {
			return fail(k.code, what, err, k.do)
		}
	}
	return fail(0, what, err, "")
}

// newTableCmd returns `weir table`.
func newTableCmd(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "table",
		Short: "Compares the DynamoDB table of leases with what it must be, and makes the difference good",
	}
	plan := &cobra.Command{
		Use:   "plan",
		Short: "Says what apply would do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := leaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			steps, err := l.Plan(cmd.Context())
			if err != nil {
				return leaseFailure("cannot compare the table", err)
			}
			if a.structured() || len(steps) > 0 {
				return printRows(a, steps)
			}
			a.say("table %s is as it must be", l.cfg.Table)
			return nil
		},
	}
	apply := &cobra.Command{
		Use:   "apply",
		Short: "Creates the table, its index, stream and replicas; never removes anything",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := leaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			n := 0
			err = l.Apply(cmd.Context(), func(s admin.Step) { n++; a.say("%s", s) })
			if err != nil {
				return leaseFailure("the table is not as it must be", err)
			}
			if n == 0 {
				a.say("table %s is as it must be", l.cfg.Table)
			}
			return nil
		},
	}
	leaseFlags(a, plan.Flags())
	leaseFlags(a, apply.Flags())
	c.AddCommand(plan, apply, newPolicyCmd(a))
	return c
}

func newPolicyCmd(a *app) *cobra.Command {
	var role, account string
	c := &cobra.Command{
		Use:     "policy",
		Short:   "Prints the IAM policy that a role needs",
		Example: "  weir table policy --role agent > agent-policy.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.loadConfig()
			if err != nil {
				return err
			}
			text, err := admin.Policy(admin.Role(role), cfg.Leases.Table, account)
			if err != nil {
				return leaseFailure("cannot print the policy", err)
			}
			_, err = fmt.Fprintln(a.stdout, text)
			return err
		},
	}
	c.Flags().StringVar(&role, "role", string(admin.RoleAgent), fmt.Sprintf("who: %v", admin.Roles()))
	c.Flags().StringVar(&account, "account", "*", "number of the AWS account")
	tableFlag(a, c.Flags())
	return c
}
