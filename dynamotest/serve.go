package dynamotest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Serve serves the regions over HTTP, region i on listener i, until ctx ends. Then it closes the
// listeners and the connections, waits for its goroutines and returns nil. It returns an error at
// once if the number of listeners is not that of the regions, and ends with an error when a
// listener fails.
//
// Serve answers a request whose Host header is loopback, an IP address or one of
// Config.AllowedHosts. It rejects requests that a browser sends for a page of another origin.
func (c *Cloud) Serve(ctx context.Context, listeners ...net.Listener) error {
	if len(listeners) != len(c.regions) {
		return fmt.Errorf("dynamotest: Serve has %d listeners for %d regions, want one for each", len(listeners), len(c.regions))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(listeners))
	var servers []*http.Server
	for i, r := range c.regions {
		srv := &http.Server{Handler: newHostGuard(r), ReadHeaderTimeout: 5 * time.Second}
		servers = append(servers, srv)
		go func() {
			defer cancel()
			ended <- srv.Serve(listeners[i])
		}()
	}
	<-ctx.Done()
	var errs []error
	for _, srv := range servers {
		errs = append(errs, srv.Close())
	}
	for range servers {
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
