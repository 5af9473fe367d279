package connect

import (
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// LeaseFlags are those of every command that looks at the table of leases.
func LeaseFlags(a *cli.App, f *pflag.FlagSet) {
	f.StringSlice("regions", nil, "regions of the table, name or name=URL, the same in the same order everywhere (default: leases.regions)")
	a.Bind(f, "regions", "leases.regions")
	f.String("home", "", "region that keeps the settings, the same everywhere (default: leases.home, then the first of leases.regions)")
	a.Bind(f, "home", "leases.home")
	TableFlag(a, f)
}

// TableFlag adds --table.
func TableFlag(a *cli.App, f *pflag.FlagSet) {
	f.String("table", "", "name of the table (default: leases.table)")
	a.Bind(f, "table", "leases.table")
}

// RegionFlag is of commands that are about one region.
func RegionFlag(a *cli.App, f *pflag.FlagSet, what string) {
	f.String("region", "", what+" (default: leases.region, then the first of leases.regions)")
	a.Bind(f, "region", "leases.region")
}
