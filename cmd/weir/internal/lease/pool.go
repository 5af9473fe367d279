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

	"github.com/weirhq/weir/agent/admin"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

// newPoolCmd returns `weir pool`.
func newPoolCmd(a *cli.App) *cobra.Command {
	return newSettingsCmd(&settingsCommand[admin.Pool]{
		a: a, noun: "pool",
		name: func(p *admin.Pool) *string { return &p.Pool },
		parents: func(f *pflag.FlagSet, p *admin.Pool) {
			f.StringVar(&p.Client, "client", p.Client, "client that it is of")
			cli.Must(cobra.MarkFlagRequired(f, "client"))
		},
		fields: func(f *pflag.FlagSet, p *admin.Pool) {
			f.DurationVar((*time.Duration)(&p.LongestLease), "longest-lease", time.Duration(p.LongestLease), "longer leases are made that short (default 1h)")
			f.DurationVar((*time.Duration)(&p.Quarantine), "quarantine", time.Duration(p.Quarantine), "how long after its lease a resource rests (default 10s)")
			f.IntVar(&p.Buckets, "buckets", p.Buckets, "parts of the index, one for each 10,000 resources of a region; they can only become more (default 10)")
			f.Var(&floorsFlag{&p.Floors}, "floor", "free resources that a region keeps whoever else needs them, as region=number; none removes them")
			f.StringVar(&p.Balance, "balance", p.Balance, "whether free resources are moved to where they are needed: on or off (default on)")
			f.StringVar(&p.Duplicates, "duplicates", p.Duplicates, "what is done about a key that two regions lease: observe, supersede, release (default supersede)")
			f.StringVar(&p.Forecast, "forecast", p.Forecast, "how the need is foretold: auto, ewma, holt, seasonal (default auto)")
			descriptionFlag(f, &p.Stored)
		},
	}, "Makes, shows and removes pools: what keys lease resources from")
}

// floorsFlag is region=number, several separated by commas.
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
			return fmt.Errorf("%q: write region=number, with commas between several, or none", text)
		}
		all[region] = n
	}
	*f.of = all
	return nil
}
