package api

import "sync"

// clientLimiter counts and bounds what clients have at once, in all and by address. An empty
// address has no limit of its own.
type clientLimiter struct {
	max, perClient int

	mu      sync.Mutex
	n       int
	clients map[string]int // by address
}

func newClientLimiter(limit, perClient int) *clientLimiter {
	return &clientLimiter{max: limit, perClient: perClient, clients: map[string]int{}}
}

// limitReached is the limit that a client has reached.
type limitReached int

const (
	noLimit limitReached = iota
	limitOfAll
	limitOfClient
)

// add counts one more of a client, which the caller removes later, unless a limit is reached.
func (l *clientLimiter) add(client string) limitReached {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.n >= l.max:
		return limitOfAll
	case client != "" && l.clients[client] >= l.perClient:
		return limitOfClient
	}
	l.n++
	l.clients[client]++
	return noLimit
}

func (l *clientLimiter) remove(client string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.n--
	if l.clients[client]--; l.clients[client] == 0 {
		delete(l.clients, client)
	}
}
