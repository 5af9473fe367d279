package api

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"connectrpc.com/connect"
)

// explain turns the error of a call into one that says what, why and what to do. What the server said is said already;
// the rest is about not having reached one.
func (c *Client) explain(err error, took time.Duration) error {
	text := c.unreachable(err, took)
	var coded *connect.Error
	if errors.As(err, &coded) && connect.IsWireError(err) {
		text = coded.Message()
		if text == "" {
			text = fmt.Sprintf("%s answered %s without a reason: see its log", c.server, coded.Code())
		}
	}
	return &clientError{text: text, err: err}
}

func (c *Client) unreachable(err error, took time.Duration) string {
	var (
		dns     *net.DNSError
		cert    *tls.CertificateVerificationError
		record  tls.RecordHeaderError
		network net.Error
	)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("no weir answers at %s (connection refused): start one with `weir dev`, or pass --server", c.server)
	case errors.As(err, &dns):
		return fmt.Sprintf("the server name in %s cannot be resolved (%s): check --server", c.server, dns.Err)
	case errors.As(err, &cert):
		return fmt.Sprintf("the certificate of %s is not trusted (%v): check the name in --server, or trust its issuer", c.server, cert.Err)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("%s speaks plain HTTP, not TLS: pass --server http://%s", c.server, c.server)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("%s gave no answer within %s: it may be overloaded or cut off: look at its /readyz, then try again", c.server, took.Round(100*time.Millisecond))
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return fmt.Sprintf("%s closed the connection before an answer came: it stopped, or has too many connections: try again", c.server)
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnimplemented, connect.CodeUnknown, connect.CodeInternal:
		return fmt.Sprintf("%s answers, but not as a weir does (%v): check that --server is the data listener of one, and http:// or https:// as it needs",
			c.server, err)
	default: // a code that says by itself what went wrong
		return fmt.Sprintf("the call to %s failed (%v): check --server and try again", c.server, err)
	}
}
