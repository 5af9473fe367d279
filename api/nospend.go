package api

import (
	"context"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
)

// noSpendService implements weir.v1.SpendService and weir.v1.AdjustmentService in a process that
// does not count spend: its errors have the processes that do.
type noSpendService struct {
	apps *apps
	app  string // Config.SpendApp
	// cache answers GetSpend without wait. Nil: this process has no spend cache.
	cache SpendCacheSource
}

func (s *noSpendService) refuse(ctx context.Context) error {
	do := "send the request to a process that counts spend"
	if s.app != "" {
		do = s.apps.whereabouts(ctx, s.app)
	}
	return errorf(connect.CodeFailedPrecondition, "this process%s does not count spend: %s", s.apps.running(), do)
}

// GetSpend answers from the spend cache, or returns an error.
func (s *noSpendService) GetSpend(ctx context.Context,
	req *connect.Request[weirpb.GetSpendRequest],
) (*connect.Response[weirpb.GetSpendResponse], error) {
	if s.cache == nil || req.Msg.GetWait() {
		return nil, s.refuse(ctx)
	}
	q, err := newSpendQuery(req.Msg)
	if err != nil {
		return nil, err
	}
	res, err := cachedSpend(ctx, s.cache, q)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(res), nil
}

// PollSpend returns an error.
func (s *noSpendService) PollSpend(ctx context.Context,
	_ *connect.Request[weirpb.PollSpendRequest],
) (*connect.Response[weirpb.PollSpendResponse], error) {
	return nil, s.refuse(ctx)
}

// ListHealth returns an error.
func (s *noSpendService) ListHealth(ctx context.Context,
	_ *connect.Request[weirpb.ListHealthRequest],
) (*connect.Response[weirpb.ListHealthResponse], error) {
	return nil, s.refuse(ctx)
}

// ListSpend returns an error.
func (s *noSpendService) ListSpend(ctx context.Context,
	_ *connect.Request[weirpb.ListSpendRequest],
) (*connect.Response[weirpb.ListSpendResponse], error) {
	return nil, s.refuse(ctx)
}

// TopSpend returns an error.
func (s *noSpendService) TopSpend(ctx context.Context,
	_ *connect.Request[weirpb.TopSpendRequest],
) (*connect.Response[weirpb.TopSpendResponse], error) {
	return nil, s.refuse(ctx)
}
