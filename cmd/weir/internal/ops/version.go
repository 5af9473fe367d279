package ops

import (
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/internal/buildinfo"
)

func newVersionCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return cli.PrintOne(a, buildinfo.Read())
		},
	}
	cli.RefuseServer(c, "the version is that of this program; `weir status` and the page of a server show its own")
	return c
}
