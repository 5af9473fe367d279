package state

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/processors/offline"
)

// TestAwaitSettled: the command waits for a settled state while one advances, up to its limit.
func TestAwaitSettled(t *testing.T) {
	for name, c := range map[string]struct {
		settledAt, standsAt time.Duration
		every               time.Duration // between transactions
		unsettled           int
		from, to            time.Duration // of the wait
	}{
		"settled":      {0, time.Hour, 1, 0, 0, 0},
		"settles":      {time.Minute, time.Hour, 1, 0, time.Minute, 2 * time.Minute},
		"slow":         {time.Minute, time.Hour, 20 * time.Second, 0, time.Minute, 2 * time.Minute},
		"takes longer": {time.Hour, time.Hour, 1, 1, settleLimit - time.Minute, settleLimit},
		"stopped":      {time.Hour, 0, 1, 1, standsLimit, standsLimit + 30*time.Second},
		"stops":        {time.Hour, time.Minute, 1, 1, standsLimit + 40*time.Second, 2*standsLimit + time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				sp, err := awaitSettled(t.Context(), t.Logf, func(context.Context) (*offline.Savepoint, error) {
					now := time.Since(begin)
					return &offline.Savepoint{Partitions: []offline.SavepointPart{
						{Partition: 0, Sequence: uint64(now)},
						{Partition: 1, Sequence: uint64(min(now, c.standsAt) / c.every), Unsettled: now < c.settledAt},
					}}, nil
				})
				if took := time.Since(begin); err != nil || len(sp.Unsettled()) != c.unsettled || took < c.from || took > c.to {
					t.Errorf("%d partitions after %s, %v", len(sp.Unsettled()), took, err)
				}
			})
		})
	}
}

// TestReplayExitCodes: scripts tell a state that is not settled yet from one that differs.
func TestReplayExitCodes(t *testing.T) {
	for _, x := range []struct {
		err  error
		code int
	}{
		{offline.ErrUnsettled, cli.ExitTempFail},
		{fmt.Errorf("promote: %w", offline.ErrUnsettled), cli.ExitTempFail},
		{offline.ErrInUse, cli.ExitFailed},
		{offline.ErrTrimmed, cli.ExitFailed},
		{offline.ErrReplay, cli.ExitFailed},
	} {
		var f *cli.Failure
		if err := replayFailure("cannot", x.err); !errors.As(err, &f) || f.Code != x.code || f.Do == "" {
			t.Errorf("%v: %#v, want code %d and what to do", x.err, err, x.code)
		}
	}
	if err := replayFailure("cannot", nil); err != nil {
		t.Error(err)
	}
}
