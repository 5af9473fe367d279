package ops

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
)

func newConfigMemoryCmd(a *cli.App) *cobra.Command {
	var roleList []string
	c := &cobra.Command{
		Use:     "memory",
		Short:   "Show where the memory budget goes",
		Long:    "Shows where the memory budget of a process goes: it is divided between the roles that run in it.",
		Example: "  weir config memory --roles spendcounter,leases --memory 2GiB",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkRoles(roleList); err != nil {
				return err
			}
			c, err := a.LoadConfig()
			if err != nil {
				return err
			}
			return cli.PrintRows(a, node.NewBudget(c, roleList).Rows(c))
		},
	}
	rolesFlag(c.Flags(), &roleList)
	c.Flags().String("memory", "", "budget to divide, such as 512MiB (default: memory)")
	a.Bind(c.Flags(), "memory", "memory")
	return c
}
