package api

import (
	"context"
	"strconv"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
)

// CreateSavepoint is the only call that writes. It is always logged. It covers the partitions of
// this process only.
func (s *clusterService) CreateSavepoint(ctx context.Context, req *connect.Request[weirpb.CreateSavepointRequest]) (*connect.Response[weirpb.CreateSavepointResponse], error) {
	if s.savepoints == nil {
		return nil, errorf(connect.CodeUnimplemented, "this process takes no savepoints: send the request to a process that runs the spend counter")
	}
	res, err := s.savepoints.Savepoint(ctx, req.Msg.GetName())
	s.log.Info().Str("name", req.Msg.GetName()).Str("remote", req.Peer().Addr).AnErr("error", err).Msg("api.savepoint")
	if err != nil {
		return nil, sourceError(err, "savepoint "+strconv.Quote(req.Msg.GetName()))
	}
	return connect.NewResponse(res), nil
}
