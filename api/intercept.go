package api

import (
	"context"
	"net/http"

	"connectrpc.com/connect"
)

// interceptor is the same for requests with one answer and with a stream of answers. It calls next,
// or answers with an error of its own.
type interceptor func(ctx context.Context, h http.Header, next func(context.Context) error) error

// WrapUnary implements connect.Interceptor.
func (i interceptor) WrapUnary(next connect.UnaryFunc) connect.UnaryFunc {
	return func(ctx context.Context, req connect.AnyRequest) (res connect.AnyResponse, err error) {
		err = i(ctx, req.Header(), func(ctx context.Context) (err error) {
			res, err = next(ctx, req)
			return err
		})
		return res, err
	}
}

// WrapStreamingHandler implements connect.Interceptor.
func (i interceptor) WrapStreamingHandler(next connect.StreamingHandlerFunc) connect.StreamingHandlerFunc {
	return func(ctx context.Context, conn connect.StreamingHandlerConn) error {
		return i(ctx, conn.RequestHeader(), func(ctx context.Context) error { return next(ctx, conn) })
	}
}

// WrapStreamingClient implements connect.Interceptor.
func (interceptor) WrapStreamingClient(next connect.StreamingClientFunc) connect.StreamingClientFunc {
	return next
}
