package lease

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/lease/admin"
)

// newTableCmd returns `weir table`.
func newTableCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "table",
		Short: "Create and check the lease table in DynamoDB",
	}
	plan := &cobra.Command{
		Use:   "plan",
		Short: "Show what weir table apply would change",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := connect.LeaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			steps, err := l.Plan(cmd.Context())
			if err != nil {
				return connect.LeaseFailure("cannot check the lease table", err)
			}
			if a.Structured() || len(steps) > 0 {
				return cli.PrintRows(a, steps)
			}
			a.Notef("table %s needs no change", l.Config.Table)
			return nil
		},
	}
	apply := &cobra.Command{
		Use:   "apply",
		Short: "Create the lease table, its index, stream and replicas; remove nothing",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := connect.LeaseTable(cmd.Context(), a)
			if err != nil {
				return err
			}
			n := 0
			err = l.Apply(cmd.Context(), func(s admin.TableStep) { n++; a.Notef("%s", s) })
			if err != nil {
				return connect.LeaseFailure("cannot change the lease table", err)
			}
			if n == 0 {
				a.Notef("table %s needs no change", l.Config.Table)
			}
			return nil
		},
	}
	connect.LeaseFlags(a, plan.Flags())
	connect.LeaseFlags(a, apply.Flags())
	c.AddCommand(plan, apply, newPolicyCmd(a))
	return c
}

// roleNames lists the values of --role.
func roleNames() (names []string) {
	for _, r := range admin.Roles() {
		names = append(names, string(r))
	}
	return names
}

func newPolicyCmd(a *cli.App) *cobra.Command {
	var role, account string
	c := &cobra.Command{
		Use:     "policy",
		Short:   "Print the IAM policy of a role",
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
			return a.Print(func(w io.Writer) error {
				_, err := fmt.Fprintln(w, text)
				return err
			})
		},
	}
	cli.RefuseServer(c, "it prints a text with the name of the table, --table or leases.table")
	c.Flags().StringVar(&role, "role", string(admin.RoleAgent), "who uses the table: "+strings.Join(roleNames(), ", "))
	cli.Enum(c.Flags(), "role", roleNames()...)
	c.Flags().StringVar(&account, "account", "*", "id of the AWS account, 12 digits; *: any account")
	connect.TableFlag(a, c.Flags())
	return c
}
