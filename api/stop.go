package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// stopped is what stop needs of one listener.
type stopped struct {
	srv  *http.Server
	gate *gate
	cut  context.CancelFunc // ends the contexts of its requests
	name string
}

// cutGrace is how long a request that was cut may take to return.
const cutGrace = 2 * time.Second

// stop closes the listener, waits for its requests until limit ends, then cuts them. Shutdown alone would not do: when
// its time is over it leaves handlers running.
func (s *Server) stop(limit context.Context, t stopped) error {
	if err := t.srv.Shutdown(limit); err == nil {
		<-t.gate.close() // no connection is left, so this is at once
		return nil
	}
	idle := t.gate.close()
	s.log.Warn().Str("listener", t.name).Int("requests", t.gate.len()).Msg("api.cut")
	t.cut()
	err := t.srv.Close()
	grace := time.NewTimer(cutGrace)
	defer grace.Stop()
	select {
	case <-idle:
		return err
	case <-grace.C:
		return errors.Join(err, fmt.Errorf("api: %d requests on the %s listener did not end when they were cut: "+
			"this is a defect of weir, please report it with a goroutine dump", t.gate.len(), t.name))
	}
}
