package pacing

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing/override"
)

// overrideFlags are the flags of all commands that give an override.
type overrideFlags struct {
	lasts    time.Duration
	withdraw bool
	why      string
}

// add adds the flags. of is what has the override.
func (o *overrideFlags) add(f *pflag.FlagSet, of string) {
	f.DurationVar(&o.lasts, "for", 0, "time for which the override holds: 1s to 24h")
	f.BoolVar(&o.withdraw, "withdraw", false, "end the override of "+of)
	f.StringVar(&o.why, "why", "", "reason, for those who read the override")
}

// checkTime checks --for.
func (o *overrideFlags) checkTime() error {
	if o.lasts < override.MinFor || o.lasts > override.MaxFor {
		return cli.UsageError(fmt.Sprintf("--for %s is out of range", o.lasts), "use 1s to 24h, such as 10m")
	}
	return nil
}

// await calls done, about twice a second, until it returns true, and returns false after the limit.
func await(ctx context.Context, limit time.Duration, done func(ctx context.Context) bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		if done(ctx) {
			return true
		}
		if !pause.For(ctx, 500*time.Millisecond) {
			return false
		}
	}
}
