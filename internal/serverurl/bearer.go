package serverurl

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
)

// Bearer is the token that a client sends with each request; empty: none. It is an interceptor.
type Bearer string

func (b Bearer) add(h http.Header) {
	if b != "" {
		h.Set("Authorization", "Bearer "+string(b))
	}
}

// WrapUnary implements connect.Interceptor.
func (b Bearer) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (connect.AnyResponse, error) {
		b.add(req.Header())
		return next(ctx, req)
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (b Bearer) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return func(ctx context.Context, spec connect.Spec) connect.StreamingClientConn {
		conn := next(ctx, spec)
		b.add(conn.RequestHeader())
		return conn
	}
}

// WrapStreamingHandler implements connect.Interceptor. A client has no handlers.
func (Bearer) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return next
}
