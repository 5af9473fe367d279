package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// listenerShutdown is what stop needs of one listener.
type listenerShutdown struct {
	srv     *http.Server
	limiter *inflightLimiter
	cut     context.CancelFunc // ends the contexts of its requests
	name    string
}

// cutGrace is how long a request that was cut may take to return.
const cutGrace = 2 * time.Second

// stop closes the listener, waits for its requests until limit ends, then cuts them. Shutdown alone would not do: when
// its time is over it leaves handlers running.
func (s *Server) stop(limit context.Context, t listenerShutdown) error {
	err := t.srv.Shutdown(limit)
	idle := t.limiter.close()
	if err == nil {
		// No connection is left, but over HTTP/2 a request outlives the connection of a caller who went away.
		select {
		case <-idle:
			return nil
		case <-limit.Done():
		}
	}
	s.log.Warn().Str("listener", t.name).Int("requests", t.limiter.len()).Msg("api.requests_cut")
	t.cut() // Close alone ends the contexts only of requests whose body was read to its end
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
