package api

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb/weirpbconnect"
)

// ForwardedHeader marks a question that one process passes on to another, with the name of the one that is meant. It is answered
// from what is there and never passed on again, so that no question runs in circles.
const ForwardedHeader = "Weir-Forwarded-To"

const (
	forwardDialTimeout = time.Second
	forwardTimeout     = 5 * time.Second // of a question that is passed on
	// forwardTimeoutStale is the same where somebody else may answer.
	forwardTimeoutStale = time.Second
)

// requestMeta is what the handlers need of a request's headers.
type requestMeta struct {
	forwarded     bool
	authorization string // the caller's
}

type requestMetaKey struct{}

func requestMetaOf(ctx context.Context) requestMeta {
	c, _ := ctx.Value(requestMetaKey{}).(requestMeta)
	return c
}

func withRequestMeta(ctx context.Context, h http.Header) context.Context {
	return context.WithValue(ctx, requestMetaKey{}, requestMeta{forwarded: h.Get(ForwardedHeader) != "", authorization: h.Get("Authorization")})
}

// receive reads the headers of a request to the process called self.
func receive(self string) connect.UnaryInterceptorFunc {
	return func(next connect.UnaryFunc) connect.UnaryFunc {
		return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
			meant := req.Header().Get(ForwardedHeader)
			if meant != "" && meant != self {
				return nil, errorf(connect.CodeUnavailable, "this is %s and %.100q was meant: two processes say that they are at one address: "+
					"give each an api.listen, or api.advertise, by which the others reach it", self, meant)
			}
			return next(withRequestMeta(ctx, req.Header()), req)
		}
	}
}

// peerClient asks one other process.
type peerClient struct {
	state   weirpbconnect.StateServiceClient
	cluster weirpbconnect.ClusterServiceClient
}

// client makes one of p. It passes on who asks, but not in the clear over a line that others can read.
func (r *Router) client(p Peer) peerClient {
	scheme, secret := "http", false
	if host, _, err := net.SplitHostPort(p.Endpoint); err == nil && isLoopback(host) {
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
	return peerClient{weirpbconnect.NewStateServiceClient(r.http, base, opts...), weirpbconnect.NewClusterServiceClient(r.http, base, opts...)}
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

// cannotAnswer tells whether err, of a question to another process, says that it cannot answer now, or is none that can.
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

// message is what err says, without its code.
func message(err error) string {
	var coded *connect.Error
	if errors.As(err, &coded) && coded.Message() != "" {
		return coded.Message()
	}
	return err.Error()
}
