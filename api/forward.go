package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
	"github.com/weirhq/weir/internal/hostcheck"
	"github.com/weirhq/weir/jobqueue/jobpb/jobpbconnect"
)

// ForwardedHeader marks a request that one process forwards to another. Its value is the instance
// name of the receiver. The receiver answers from its own partitions and does not forward the
// request again, so that no request runs in circles.
const ForwardedHeader = "Weir-Forwarded-To"

const (
	forwardDialTimeout = time.Second
	forwardTimeout     = 5 * time.Second // of a forwarded request
	// forwardTimeoutStale is the timeout if a standby can answer in place of the owner.
	forwardTimeoutStale = time.Second
	// scanLimit is the timeout of a scan of all campaigns in a partition: a client waits for 15 s.
	scanLimit = 14 * time.Second
)

// forwardLimit returns the timeout of a forwarded request.
func forwardLimit(maxStaleness time.Duration) time.Duration {
	if maxStaleness > 0 {
		return forwardTimeoutStale
	}
	return forwardTimeout
}

// requestMeta is the part of a request's headers that handlers need.
type requestMeta struct {
	forwarded     bool
	authorization string // of the caller
}

type requestMetaKey struct{}

func requestMetaOf(ctx context.Context) requestMeta {
	c, _ := ctx.Value(requestMetaKey{}).(requestMeta)
	return c
}

func withRequestMeta(ctx context.Context, h http.Header) context.Context {
	return context.WithValue(ctx, requestMetaKey{},
		requestMeta{forwarded: h.Get(ForwardedHeader) != "", authorization: h.Get("Authorization")})
}

// receive returns an interceptor that reads the headers of a request to the process with these
// instance names: a process may have a name of its own in each application.
func receive(names []string) interceptor {
	return func(ctx context.Context, h http.Header, next func(context.Context) error) error {
		meant := h.Get(ForwardedHeader)
		if meant != "" && !slices.Contains(names, meant) {
			return errorf(connect.CodeUnavailable,
				"this process is %s, but the request is for %.100q: two processes advertise the same address: "+
					"give each process an address of its own", strings.Join(names, ", "), meant)
		}
		return next(withRequestMeta(ctx, h))
	}
}

// peerClient sends requests to one other process.
type peerClient struct {
	state   weirpbconnect.StateServiceClient
	cluster weirpbconnect.ClusterServiceClient
	spend   weirpbconnect.SpendServiceClient
	pacing  weirpbconnect.PacingServiceClient
	jobs    jobpbconnect.JobServiceClient
}

// client returns a client of p. It forwards the caller's token, but never in plain text to another
// machine.
func (r *Router) client(p Peer) peerClient {
	scheme, secret := "http", false
	if host, _, err := net.SplitHostPort(p.Endpoint); err == nil && hostcheck.IsLoopback(host) {
		secret = true
	}
	if r.tls {
		scheme, secret = "https", true
	}
	send := connect.UnaryInterceptorFunc(func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			req.Header().Set(ForwardedHeader, p.Instance)
			if auth := requestMetaOf(ctx).authorization; auth != "" && secret {
				req.Header().Set("Authorization", auth)
			}
			return next(ctx, req)
		}
	})
	base, opts := scheme+"://"+p.Endpoint, []connect.ClientOption{connect.WithInterceptors(send), connect.WithReadMaxBytes(maxAnswerBytes)}
	return peerClient{
		weirpbconnect.NewStateServiceClient(r.http, base, opts...), weirpbconnect.NewClusterServiceClient(r.http, base, opts...),
		weirpbconnect.NewSpendServiceClient(r.http, base, opts...), weirpbconnect.NewPacingServiceClient(r.http, base, opts...),
		jobpbconnect.NewJobServiceClient(r.http, base, opts...),
	}
}

func forwardTransport(roots *x509.CertPool) http.RoundTripper {
	return &http.Transport{
		DialContext:            (&net.Dialer{Timeout: forwardDialTimeout}).DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout:    forwardDialTimeout,
		IdleConnTimeout:        time.Minute,
		MaxIdleConnsPerHost:    32,
		ForceAttemptHTTP2:      true,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// cannotAnswer reports whether err, of a forwarded request, means that the other process cannot
// answer now, or that it is not a weir process that can.
func cannotAnswer(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return false
	}
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeDeadlineExceeded, connect.CodeCanceled, connect.CodeUnimplemented, connect.CodeUnknown:
		return true
	default:
		return false
	}
}

// message returns the text of err without its code.
func message(err error) string {
	var coded *connect.Error
	if errors.As(err, &coded) && coded.Message() != "" {
		return coded.Message()
	}
	return err.Error()
}
