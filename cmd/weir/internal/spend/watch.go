package spend

import (
	"context"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
)

const (
	watchHelp  = "repeat every second until interrupted"
	watchEvery = time.Second
)

// watch calls show once, or with repeat every second until ctx ends. On a terminal each answer
// replaces the one before. After the first answer, an error is noted and the next second tries
// again.
func watch(ctx context.Context, a *cli.App, repeat bool, show func(context.Context) error) error {
	if !repeat {
		return show(ctx)
	}
	t := time.NewTicker(watchEvery)
	defer t.Stop()
	for first := true; ; first = false {
		if err := a.ClearScreen(); err != nil {
			return err
		}
		err := show(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return err
		case err != nil:
			a.Notef("%v: trying again", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}
