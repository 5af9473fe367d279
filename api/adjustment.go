package api

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	"github.com/cespare/xxhash/v2"

	"github.com/weirhq/weir/api/weirpb"
)

// AdjustmentSource reads the adjustments that were applied. Its method is called concurrently.
type AdjustmentSource interface {
	// Adjustments returns a page of the adjustments of an account, ordered by reference. If the
	// partition of the account cannot be read, it returns a *PartitionsError.
	Adjustments(ctx context.Context, q AdjustmentQuery) (*AdjustmentPage, error)
}

// AdjustmentQuery selects adjustments of an account.
type AdjustmentQuery struct {
	Account      string
	After        string // reference; empty: from the first
	Limit        int
	MaxStaleness time.Duration // of a standby; 0: only the owner
}

// AdjustmentPage is a page of adjustments. They are of one snapshot. The marks of over-refunded
// campaign days are of that snapshot or of a later one.
type AdjustmentPage struct {
	Adjustments []*weirpb.Adjustment
	AsOf        *weirpb.AsOf
	More        bool // there are adjustments behind the last one
}

// MaxAdjustments is the maximum number of adjustments of a page. A page may read as many campaign
// days.
const MaxAdjustments = 1000

func newAdjustmentQuery(m *weirpb.ListAdjustmentsRequest) (q AdjustmentQuery, err error) {
	q = AdjustmentQuery{Account: m.GetAccount(), Limit: int(m.GetLimit())}
	if q.Limit == 0 {
		q.Limit = defaultPageKeys
	}
	switch {
	case q.Account == "":
		return q, noAccount()
	case q.Limit < 1 || q.Limit > MaxAdjustments:
		return q, invalid("limit %d is out of range: use 1 to %d, and page_token for more", q.Limit, MaxAdjustments)
	case m.GetWait() && m.GetMaxStalenessMs() > 0:
		return q, invalid("wait and max_staleness_ms exclude each other: omit one of them")
	}
	if err := checkID("account", q.Account); err != nil {
		return q, err
	}
	if q.MaxStaleness, err = staleness(m.GetMaxStalenessMs()); err != nil {
		return q, err
	}
	if t := m.GetPageToken(); t != "" {
		at, err := parseToken(t, q.fingerprint())
		if err != nil {
			return q, err
		}
		q.After = string(at.from)
	}
	return q, nil
}

// fingerprint distinguishes requests whose pages would not fit together.
func (q AdjustmentQuery) fingerprint() uint64 {
	return xxhash.Sum64String(fmt.Sprintf("adjustments %q", q.Account))
}

// ListAdjustments returns the adjustments of an account. weir.proto lists its errors.
func (s *spendService) ListAdjustments(ctx context.Context,
	req *connect.Request[weirpb.ListAdjustmentsRequest],
) (*connect.Response[weirpb.ListAdjustmentsResponse], error) {
	if s.adjustments == nil {
		return nil, errorf(connect.CodeUnimplemented,
			"this process serves no adjustments: send the request to a process with the role spendcounter")
	}
	q, err := newAdjustmentQuery(req.Msg)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("adjustments of account %q", q.Account)
	if req.Msg.GetWait() {
		if err := s.wait(ctx, q.Account, what); err != nil {
			return nil, err
		}
	}
	page, err := s.adjustments.Adjustments(ctx, q)
	if err != nil {
		return nil, sourceError(err, what)
	}
	out := &weirpb.ListAdjustmentsResponse{Adjustments: page.Adjustments, AsOf: page.AsOf}
	n := len(page.Adjustments)
	if n == 0 && q.After == "" {
		read := []*weirpb.AsOf{page.AsOf}
		return nil, withAsOf(
			errorf(connect.CodeNotFound,
				"account %q has no adjustments, as of %s: check the id, and the dead letters for rejected adjustments; "+
					"one that was produced just now may not be applied yet", q.Account, asOfText(read)), read)
	}
	if page.More && n > 0 {
		out.NextPageToken = position{from: []byte(page.Adjustments[n-1].GetReferenceId())}.token(q.fingerprint())
	}
	return connect.NewResponse(out), nil
}

// ListAdjustments returns an error.
func (s *noSpendService) ListAdjustments(ctx context.Context,
	_ *connect.Request[weirpb.ListAdjustmentsRequest],
) (*connect.Response[weirpb.ListAdjustmentsResponse], error) {
	return nil, s.refuse(ctx)
}
