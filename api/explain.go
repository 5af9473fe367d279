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

// explain adds what, why and what to do to the error of a call. The server's own text has all
// three; the other texts are for calls that did not reach a server.
func (c *Client) explain(err error, took time.Duration) error {
	text := c.unreachable(err, took)
	var coded *connect.Error
	if errors.As(err, &coded) && connect.IsWireError(err) {
		text = coded.Message()
		if text == "" {
			text = fmt.Sprintf("%s answered %s without a text: see its log", c.server, coded.Code())
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
		return fmt.Sprintf("no weir process answers at %s (connection refused): start one, or correct the address", c.server)
	case errors.As(err, &dns):
		return fmt.Sprintf("the server name in %s cannot be resolved (%s): correct the address", c.server, dns.Err)
	case errors.As(err, &cert):
		return fmt.Sprintf("the certificate of %s is not trusted (%v): correct the server name, or trust the issuer", c.server, cert.Err)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("%s speaks plain HTTP, not TLS: use the address http://%s", c.server, c.server)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded),
		errors.As(err, &network) && network.Timeout():
		return fmt.Sprintf("%s gave no answer within %s: it is overloaded or unreachable: check its /readyz, then try again", c.server,
			took.Round(100*time.Millisecond))
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return fmt.Sprintf("%s closed the connection before it answered: it stopped, or has too many connections: try again", c.server)
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnimplemented, connect.CodeUnknown, connect.CodeInternal:
		if coded := new(connect.Error); errors.As(err, &coded) && strings.HasPrefix(coded.Message(), "400 ") && !c.tls {
			return fmt.Sprintf("%s refuses plain HTTP (%s), as a server with TLS does: use the address https://%s", c.server,
				coded.Message(), c.server)
		}
		return fmt.Sprintf(
			"%s answers, but not as a weir process (%v): use the address of a data listener, with http:// or https:// as it needs",
			c.server, err)
	default: // the code states what failed
		return fmt.Sprintf("the call to %s failed (%v): check the address and try again", c.server, err)
	}
}
