package api

import "sync"

// inflightLimiter counts the requests that are worked on, bounds them, and lets a stopping server wait for them. A WaitGroup does
// not do: net/http may start one more handler while Run already waits.
type inflightLimiter struct {
	mu     sync.Mutex
	n, max int
	closed bool
	idle   chan struct{} // closed once the gate is closed and empty
}

func newInflightLimiter(limit int) *inflightLimiter {
	return &inflightLimiter{max: limit, idle: make(chan struct{})}
}

// enter tells whether a request may begin; if so, leave is called at its end. If not, stopping says that it is because
// of close and not of the bound.
func (g *inflightLimiter) enter() (ok, stopping bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.n >= g.max {
		return false, g.closed
	}
	g.n++
	return true, false
}

func (g *inflightLimiter) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.n--
	if g.closed && g.n == 0 {
		close(g.idle)
	}
}

// close lets no further request in. The channel is closed when the last one has left.
func (g *inflightLimiter) close() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		if g.n == 0 {
			close(g.idle)
		}
	}
	return g.idle
}

// len is the number of requests inside.
func (g *inflightLimiter) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}
