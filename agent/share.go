package agent

import (
	"context"
	"time"
)

// shared is a call that several wait for.
type shared struct {
	done  chan struct{}
	lease Lease
	call  Call // what it took
	err   error
}

// maxSharedCall is for how long a call goes on that nobody may be waiting for any more.
const maxSharedCall = time.Minute

// share makes one call for all who ask for the same key at one time. It is ended by no one of them who gives up.
func (a *Agent) share(ctx context.Context, n leaseName, do func(context.Context, *Call) (Lease, error)) (Lease, Call, error) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return Lease{}, Call{}, ErrClosed
	}
	s, ok := a.calls[n]
	if !ok {
		s = &shared{done: make(chan struct{})}
		a.calls[n] = s
		a.running.Go(func() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), maxSharedCall)
			defer cancel()
			defer context.AfterFunc(a.background, cancel)() //nolint:contextcheck // Close ends it
			s.lease, s.err = do(ctx, &s.call)
			a.mu.Lock()
			delete(a.calls, n)
			a.mu.Unlock()
			close(s.done)
		})
	}
	a.mu.Unlock()
	select {
	case <-s.done:
		l := s.lease
		l.New = l.New && !ok
		return l, s.call, s.err
	case <-ctx.Done():
		return Lease{}, Call{}, ctx.Err()
	}
}
