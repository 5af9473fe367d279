//go:build synctests

package pacingsim

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
)

// transport answers the requests of an ad server in the place of a spend cache.
type transport struct {
	service *service
	cut     atomic.Bool
	since   int // second from which on it is cut off; changed by the simulation alone
}

var errCut = errors.New("connection refused")

// RoundTrip implements http.RoundTripper.
func (x *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if x.cut.Load() {
		return nil, errCut
	}
	req := &weirpb.GetParametersRequest{}
	if err := proto.Unmarshal(body, req); err != nil {
		return nil, err
	}
	out, err := proto.Marshal(api.Parameters(req.GetAccount(), x.service.written(), time.Now().UnixMilli()))
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/proto"}}, Body: io.NopCloser(bytes.NewReader(out)),
		ContentLength: int64(len(out)), Request: r,
	}, nil
}
