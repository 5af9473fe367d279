package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// listenerShutdown is one listener with the things that stop needs.
type listenerShutdown struct {
	srv     *http.Server
	limiter *inflightLimiter
	cut     context.CancelFunc // ends the contexts of its requests
	name    string
}

// cutGrace is the time that a request has to return after it was cut.
const cutGrace = 2 * time.Second

// stop closes the listener, waits for its requests until limit ends, and then cuts them.
// http.Server.Shutdown does not suffice: at its time limit it leaves handlers running.
func (s *Server) stop(limit context.Context, t listenerShutdown) error {
	err := t.srv.Shutdown(limit)
	idle := t.limiter.close()
	if err == nil {
		// No connection is left. But over HTTP/2 a request can outlive the connection of its
		// caller.
		select {
		case <-idle:
			return nil
		case <-limit.Done():
		}
	}
	s.log.Warn().Str("listener", t.name).Int("requests", t.limiter.len()).Msg("api.requests_cut")
	t.cut() // Close ends only the contexts of requests whose body was read completely
	err = t.srv.Close()
	grace := time.NewTimer(cutGrace)
	defer grace.Stop()
	select {
	case <-idle:
		return err
	case <-grace.C:
		return errors.Join(err, fmt.Errorf("api: %d requests on the %s listener did not end when they were cut: "+
			"this is a defect of weir, please report it with a goroutine dump", t.limiter.len(), t.name))
	}
}
