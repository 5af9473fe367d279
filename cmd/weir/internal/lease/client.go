package lease

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/lease/admin"
)

// newClientCmd returns `weir client`.
func newClientCmd(a *cli.App) *cobra.Command {
	return newSettingsCmd(&settingsCommand[admin.Client]{
		a: a, noun: "client",
		name:    func(c *admin.Client) *string { return &c.Client },
		parents: func(*pflag.FlagSet, *admin.Client) {},
		fields:  func(f *pflag.FlagSet, c *admin.Client) { descriptionFlag(f, &c.StoredRow) },
	}, "Create, show, change and delete clients: the tenants that have pools")
}

func descriptionFlag(f *pflag.FlagSet, s *admin.StoredRow) {
	f.StringVar(&s.Description, "description", s.Description, "description for operators")
}
