package ops

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/node"
)

func newConfigMemoryCmd(a *cli.App) *cobra.Command {
	var names []string
	c := &cobra.Command{
		Use:   "memory",
		Short: "Show how the memory budget is divided",
		Long: "Show how the memory budget of a process is divided between its roles, and what each role uses\n" +
			"its share for. The figures are upper bounds.",
		Example: "  weir config memory --roles spendcounter,leases --memory 2GiB",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			roles, err := selectRoles(names)
			if err != nil {
				return err
			}
			c, err := a.LoadConfig()
			if err != nil {
				return err
			}
			return cli.PrintRows(a, node.NewBudget(c, roles).Rows())
		},
	}
	rolesFlag(c.Flags(), &names)
	c.Flags().String("memory", "", "budget to divide, such as 512MiB (default: memory)")
	a.Bind(c.Flags(), "memory", "memory")
	return c
}
