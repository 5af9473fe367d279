//go:build synctests

package processors

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/weirhq/weir/processors/internal/txn"
)

func newGuard(ctx context.Context, found func()) *leftoverGuard {
	return &leftoverGuard{ctx: ctx, log: zerolog.Nop(), found: found, hold: 2 * time.Second, busy: make(chan struct{}, 1)}
}

// TestLeftoverGuard: a new connection is used when the last transaction is known to be closed, or
// if that cannot be known. A transaction that hangs ends the session.
func TestLeftoverGuard(t *testing.T) {
	const hold = 2 * time.Second
	for name, c := range map[string]struct {
		begun   int64
		answers []any // the last one again and again
		passes  bool
		asked   int // 0: any number
		took    time.Duration
		found   int
		again   int // questions for another connection
	}{
		"no transaction":            {passes: true},
		"closed":                    {begun: 1, answers: []any{txn.Nothing}, passes: true, asked: 1},
		"another one is open":       {begun: 1, answers: []any{txn.Running}, passes: true, asked: 1, again: 1},
		"hangs":                     {begun: 1, answers: []any{txn.Hanging}, asked: 1, found: 1},
		"a partition answers later": {begun: 1, answers: []any{txn.Unseen, txn.Unseen, txn.Hanging}, asked: 3, took: 2 * leftoverPause, found: 1},
		"a partition is away":       {begun: 1, answers: []any{txn.Unseen}, passes: true, took: hold, again: -1},
		"brokers load":              {begun: 1, answers: []any{kerr.CoordinatorLoadInProgress, txn.Nothing}, passes: true, asked: 2, took: leftoverPause},
		"brokers are away":          {begun: 1, answers: []any{kerr.CoordinatorLoadInProgress}, took: hold, again: -1},
		"denied":                    {begun: 1, answers: []any{kerr.TransactionalIDAuthorizationFailed}, passes: true, asked: 1, again: 1},
		"not known to the brokers":  {begun: 1, answers: []any{errors.New("unknown request")}, passes: true, took: hold, again: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked, found := 0, 0
				g := newGuard(t.Context(), func() { found++ })
				g.check = func(context.Context) (txn.Leftover, error) {
					answer := c.answers[min(asked, len(c.answers)-1)]
					asked++
					if err, ok := answer.(error); ok {
						return txn.Unseen, err
					}
					what, _ := answer.(txn.Leftover)
					return what, nil
				}
				for range c.begun {
					g.begin()
					g.end()
				}
				began := time.Now()
				if got := g.passes(); got != c.passes || found != c.found || c.asked > 0 && asked != c.asked || time.Since(began) != c.took {
					t.Errorf("passes %t after %s and %d questions; found %d times", got, time.Since(began), asked, found)
				}
				before := asked
				if got := g.passes(); got != c.passes || found != c.found || c.again >= 0 && asked-before != c.again {
					t.Errorf("another connection: passes %t after %d questions; found %d times", got, asked-before, found)
				}
			})
		})
	}
}

// TestLeftoverGuardOfTheNext: the answer for a transaction is not that for one that has begun
// since.
func TestLeftoverGuardOfTheNext(t *testing.T) {
	g := newGuard(t.Context(), func() { t.Error("hangs") })
	asked := 0
	g.check = func(context.Context) (txn.Leftover, error) {
		if asked++; asked == 1 {
			g.begin()
			g.end()
		}
		return txn.Nothing, nil
	}
	g.begin()
	g.end()
	for range 3 {
		if !g.passes() {
			t.Error("does not pass")
		}
	}
	if asked != 2 {
		t.Errorf("%d questions", asked)
	}
}

// TestLeftoverGuardOfOneThatHasNotEnded: what is found of a transaction that is not ended is not
// its end.
func TestLeftoverGuardOfOneThatHasNotEnded(t *testing.T) {
	g, asked := newGuard(t.Context(), func() { t.Error("hangs") }), 0
	g.check = func(context.Context) (txn.Leftover, error) {
		asked++
		return txn.Nothing, nil // the brokers have no record of it yet
	}
	g.begin()
	for want := 1; want <= 2; want++ {
		if !g.passes() || asked != want {
			t.Errorf("%d questions, want %d", asked, want)
		}
	}
	g.end()
	for range 2 {
		if !g.passes() || asked != 3 {
			t.Errorf("%d questions for a transaction that has ended", asked)
		}
	}
}

// TestLeftoverGuardEnds: the end of the session ends the wait.
func TestLeftoverGuardEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		g := newGuard(ctx, func() { t.Error("hangs") })
		g.check = func(ctx context.Context) (txn.Leftover, error) {
			<-ctx.Done()
			return txn.Unseen, ctx.Err()
		}
		g.begin()
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		if g.passes() || time.Since(began) != time.Second {
			t.Errorf("passes, or ended after %s", time.Since(began))
		}
	})
}
