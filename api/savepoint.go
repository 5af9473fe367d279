package api

import (
	"context"
	"strconv"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
)

// CreateSavepoint is the only call that writes. It is always logged. It covers the partitions that
// this process has of one application.
func (s *clusterService) CreateSavepoint(ctx context.Context,
	req *connect.Request[weirpb.CreateSavepointRequest],
) (*connect.Response[weirpb.CreateSavepointResponse], error) {
	app, err := s.apps.withState(ctx, req.Msg.GetApp())
	if err != nil {
		return nil, err
	}
	if app.Savepoints == nil {
		return nil, errorf(connect.CodeFailedPrecondition,
			"this process takes no savepoints of %s: send the request to a process that does", app.Name)
	}
	res, err := app.Savepoints.Savepoint(ctx, req.Msg.GetName())
	s.log.Info().Str("app", app.Name).Str("name", req.Msg.GetName()).Str("remote", req.Peer().Addr).AnErr("error", err).Msg("api.savepoint")
	if err != nil {
		return nil, sourceError(err, "savepoint "+strconv.Quote(req.Msg.GetName()))
	}
	return connect.NewResponse(res), nil
}
