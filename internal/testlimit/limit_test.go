package testlimit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestPoll runs in virtual time: calls until one succeeds, and the last error that explains why
// none did within the limit.
func TestPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		if err := Poll(t.Context(), func(context.Context) error {
			if n++; n < 3 {
				return errors.New("not yet")
			}
			return nil
		}); err != nil || n != 3 {
			t.Errorf("%v after %d calls, want 3", err, n)
		}
		began := time.Now()
		err := Poll(t.Context(), func(ctx context.Context) error {
			if time.Since(began) < Limit-time.Second {
				return errors.New("the cause")
			}
			<-ctx.Done() // the end of the limit is an error too
			return ctx.Err()
		})
		if err == nil || !strings.Contains(err.Error(), "the cause") || time.Since(began) != Limit {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
