package connect

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// MaxStalenessHelp is the help of --max-staleness.
const MaxStalenessHelp = "if the owner does not answer, accept a standby whose state is at most this old (default: only owners)"

// StalenessMs returns the value of --max-staleness in milliseconds.
func StalenessMs(limit time.Duration) (int64, error) {
	if limit < 0 || limit > 0 && limit < time.Millisecond {
		return 0, cli.UsageError(fmt.Sprintf("--max-staleness %v is out of range", limit),
			"write 1ms or more, such as 10s; without the flag only owners answer")
	}
	return limit.Milliseconds(), nil
}

// LeaseFlags adds the flags of every command that uses the lease table.
func LeaseFlags(a *cli.App, f *pflag.FlagSet) {
	f.StringSlice("regions", nil,
		"regions of the lease table, name or name=URL, in the same order in all processes (default: leases.regions)")
	a.Bind(f, "regions", "leases.regions")
	f.String("home", "", "home region, the same in all processes (default: leases.home, then the first of leases.regions)")
	a.Bind(f, "home", "leases.home")
	cli.Region(f, "home")
	TableFlag(a, f)
}

// TableFlag adds --table, which sets leases.table.
func TableFlag(a *cli.App, f *pflag.FlagSet) {
	f.String("table", "", "name of the lease table (default: leases.table)")
	a.Bind(f, "table", "leases.table")
}

// RegionFlag adds --region, which sets leases.region. what describes the region's part in the
// command.
func RegionFlag(a *cli.App, f *pflag.FlagSet, what string) {
	f.String("region", "", what+" (default: leases.region, then the first of leases.regions)")
	a.Bind(f, "region", "leases.region")
	cli.Region(f, "region")
}
