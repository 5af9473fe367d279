package lease

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

// newTableCmd returns `weir table`.
func newTableCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "table",
		Short: "Compares the DynamoDB table of leases with what it must be, and makes the difference good",
	}
	plan := &cobra.Command{
		Use:   "plan",
		Short: "Says what apply would do",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := connect.LeaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			steps, err := l.Plan(cmd.Context())
			if err != nil {
				return connect.LeaseFailure("cannot compare the table", err)
			}
			if a.Structured() || len(steps) > 0 {
				return cli.PrintRows(a, steps)
			}
			a.Notef("table %s is as it must be", l.Config.Table)
			return nil
		},
	}
	apply := &cobra.Command{
		Use:   "apply",
		Short: "Creates the table, its index, stream and replicas; never removes anything",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := connect.LeaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			n := 0
			err = l.Apply(cmd.Context(), func(s admin.Step) { n++; a.Notef("%s", s) })
			if err != nil {
				return connect.LeaseFailure("the table is not as it must be", err)
			}
			if n == 0 {
				a.Notef("table %s is as it must be", l.Config.Table)
			}
			return nil
		},
	}
	connect.LeaseFlags(a, plan.Flags())
	connect.LeaseFlags(a, apply.Flags())
	c.AddCommand(plan, apply, newPolicyCmd(a))
	return c
}

func newPolicyCmd(a *cli.App) *cobra.Command {
	var role, account string
	c := &cobra.Command{
		Use:     "policy",
		Short:   "Prints the IAM policy that a role needs",
		Example: "  weir table policy --role agent > agent-policy.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := a.LoadConfig()
			if err != nil {
				return err
			}
			text, err := admin.Policy(admin.Role(role), cfg.Leases.Table, account)
			if err != nil {
				return connect.LeaseFailure("cannot print the policy", err)
			}
			_, err = fmt.Fprintln(a.Stdout, text)
			return err
		},
	}
	c.Flags().StringVar(&role, "role", string(admin.RoleAgent), fmt.Sprintf("who: %v", admin.Roles()))
	c.Flags().StringVar(&account, "account", "*", "number of the AWS account")
	connect.TableFlag(a, c.Flags())
	return c
}
