package lease

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/lease/admin"
)

// newPoolCmd returns `weir pool`.
func newPoolCmd(a *cli.App) *cobra.Command {
	return newSettingsCmd(&settingsCommand[admin.Pool]{
		a: a, noun: "pool",
		name: func(p *admin.Pool) *string { return &p.Pool },
		parents: func(f *pflag.FlagSet, p *admin.Pool) {
			f.StringVar(&p.Client, "client", p.Client, "client of the pool")
			cli.Must(cobra.MarkFlagRequired(f, "client"))
		},
		fields: func(f *pflag.FlagSet, p *admin.Pool) {
			f.DurationVar((*time.Duration)(&p.LongestLease), "longest-lease", time.Duration(p.LongestLease),
				"maximum lease term; longer requests get this term (default 1h)")
			f.DurationVar((*time.Duration)(&p.Quarantine), "quarantine", time.Duration(p.Quarantine),
				"time after the end of a lease in which no other key gets the resource (default 10s)")
			f.IntVar(&p.Buckets, "buckets", p.Buckets,
				"index partitions, one for each 10,000 resources of a region; the number can only grow (default 10)")
			f.Var(&floorsFlag{&p.Floors}, "floor",
				"free resources that a region keeps even if other regions need them; none removes all floors")
			f.StringVar(&p.Balance, "balance", p.Balance,
				"whether the balancer transfers free resources between regions: on or off (default on)")
			f.StringVar(&p.Duplicates, "duplicates", p.Duplicates,
				"what dedup does about a key that two regions lease: observe, supersede or release (default supersede)")
			f.StringVar(&p.Forecast, "forecast", p.Forecast, "forecast of demand: auto, ewma, holt or seasonal (default auto)")
			cli.Enum(f, "balance", "on", "off")
			cli.Enum(f, "duplicates", "observe", "supersede", "release")
			cli.Enum(f, "forecast", "auto", "ewma", "holt", "seasonal")
			descriptionFlag(f, &p.StoredRow)
		},
		note: func(p *admin.Pool) string {
			if p.Quarantine <= p.LongestLease {
				return ""
			}
			return fmt.Sprintf("the quarantine, %v, is longer than the longest lease, %v: resources are idle most of the time",
				p.Quarantine, p.LongestLease)
		},
	}, "Create, show, change and delete pools: sets of resources to lease")
}

// floorsFlag is the value of --floor: region=number, separated by commas.
type floorsFlag struct{ of *map[string]int64 }

// Type implements pflag.Value.
func (f *floorsFlag) Type() string { return "region=number" }

// String implements pflag.Value.
func (f *floorsFlag) String() string {
	if f.of == nil || len(*f.of) == 0 {
		return ""
	}
	var all []string
	for _, region := range slices.Sorted(maps.Keys(*f.of)) {
		all = append(all, fmt.Sprintf("%s=%d", region, (*f.of)[region]))
	}
	return strings.Join(all, ",")
}

// Set implements pflag.Value.
func (f *floorsFlag) Set(text string) error {
	all := map[string]int64{}
	for part := range strings.SplitSeq(text, ",") {
		if text == "none" || text == "" {
			break
		}
		region, number, ok := strings.Cut(part, "=")
		n, err := strconv.ParseInt(number, 10, 64)
		if _, twice := all[region]; !ok || err != nil || region == "" || twice {
			return fmt.Errorf("%q is not REGION=NUMBER: write eu=2 or eu=2,us=3, or none", text)
		}
		all[region] = n
	}
	*f.of = all
	return nil
}
