package leasedemo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/weirhq/weir/agent"
)

// Config says what a User does. All fields must be set.
type Config struct {
	Client, Pool string
	Prefix       string        // of its keys
	Keys         int           // how many
	Rate         float64       // calls a second
	Length       time.Duration // of a lease
}

// Stats count what was done. Held is how many leases are held now.
type Stats struct {
	Held, Got, Renewed, Released, Refused, Failed atomic.Int64
}

// User uses leases of one agent's region.
type User struct {
	Stats

	agent *agent.Agent
	cfg   Config
	held  map[string]agent.Lease
}

// New returns a User. It does nothing before Run.
func New(a *agent.Agent, cfg Config) *User {
	return &User{agent: a, cfg: cfg, held: map[string]agent.Lease{}}
}

// Run goes on until ctx ends.
func (u *User) Run(ctx context.Context) {
	t := time.NewTicker(time.Duration(float64(time.Second) / u.cfg.Rate))
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-t.C:
			u.step(ctx, now, fmt.Sprintf("%s%03d", u.cfg.Prefix, rand.IntN(u.cfg.Keys)))
		}
	}
}

// step does one call about a key.
func (u *User) step(ctx context.Context, now time.Time, key string) {
	for k, l := range u.held {
		if !l.Valid(now) {
			delete(u.held, k)
		}
	}
	l, ok := u.held[key]
	var err error
	switch {
	case !ok:
		if l, err = u.agent.GetLease(ctx, u.cfg.Client, u.cfg.Pool, key, now.Add(u.cfg.Length)); err == nil {
			u.held[key] = l
			u.Got.Add(1)
		}
	case rand.IntN(2) == 0:
		if l, err = u.agent.Renew(ctx, l, now.Add(u.cfg.Length)); err == nil {
			u.held[key] = l
			u.Renewed.Add(1)
		}
	default:
		if err = u.agent.Release(ctx, l); err == nil {
			u.Released.Add(1)
		}
		delete(u.held, key)
	}
	switch {
	case err == nil || ctx.Err() != nil:
	case errors.Is(err, agent.ErrExhausted):
		u.Refused.Add(1)
	default:
		delete(u.held, key)
		u.Failed.Add(1)
	}
	u.Held.Store(int64(len(u.held)))
}
