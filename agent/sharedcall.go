package agent

import (
	"context"
	"time"
)

// sharedCall is a call whose result several callers wait for.
type sharedCall struct {
	done  chan struct{}
	lease Lease
	call  Call
	err   error
}

// maxSharedCall limits a call that all callers may have abandoned.
const maxSharedCall = time.Minute

// share runs one call for all concurrent callers with the same key. It continues when a caller's
// context ends. singleflight does not fit: only the first caller may see Lease.New.
func (a *Agent) share(ctx context.Context, n leaseName, do func(context.Context, *Call) (Lease, error)) (Lease, Call, error) {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return Lease{}, Call{}, ErrClosed
	}
	s, ok := a.calls[n]
	if !ok {
		s = &sharedCall{done: make(chan struct{})}
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
