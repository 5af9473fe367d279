package api

import "sync"

// inflightLimiter counts and bounds the concurrent requests, and lets a stopping server wait for
// them. A WaitGroup does not suffice: net/http may start one more handler while Run already waits.
// Parked requests have a limit of their own, in parking.
type inflightLimiter struct {
	mu     sync.Mutex
	n      int // requests, with parked ones
	parked int
	max    int // of requests that are not parked
	closed bool
	idle   chan struct{} // closed once the limiter is closed and empty
}

func newInflightLimiter(limit int) *inflightLimiter {
	return &inflightLimiter{max: limit, idle: make(chan struct{})}
}

// park makes room for another request while one that has entered waits for a commit. The request
// calls unpark before it calls leave, whether its place is taken then or not.
func (g *inflightLimiter) park() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parked++
}

func (g *inflightLimiter) unpark() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.parked--
}

// enter reports whether a request may begin. If ok is true, the caller calls leave at the end of
// the request. Otherwise stopping is true if the limiter is closed, and false if it is full.
func (g *inflightLimiter) enter() (ok, stopping bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.n-g.parked >= g.max {
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

// close rejects further requests. The channel is closed when the last request has left.
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

// len returns the number of requests inside, with parked ones.
func (g *inflightLimiter) len() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.n
}
