package api

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
)

// Router reads state wherever it is: in this process or in the one that owns it.
//
//	question ─▶ here, as owner ─▶ the owner that the peers name ─▶ asked anew, the owner now ─▶ standbys, here and there
//	                  └ no: elsewhere        └ no answer                   └ no answer      only with a MaxStaleness
//
// It is safe for concurrent use.
type Router struct {
	state StateSource
	info  StateInfo
	peers *peers
	http  *http.Client
	tls   bool
}

// RouterConfig of a Router. State and Peers have no default.
type RouterConfig struct {
	// State is what this process has.
	State StateSource
	// Peers tells who has the rest.
	Peers PeerSource
	// TLS says that the others are asked over https, as this process is. Defaults to plain HTTP.
	TLS bool
	// Roots are the authorities that may vouch for the others. Defaults to the system's.
	Roots *x509.CertPool
	// Transport carries the questions to others. Defaults to one of its own, with Roots.
	Transport http.RoundTripper
}

// NewRouter starts nothing.
func NewRouter(cfg RouterConfig) *Router {
	if cfg.Transport == nil {
		cfg.Transport = forwardTransport(cfg.Roots)
	}
	return &Router{
		state: cfg.State, info: cfg.State.Info(), peers: &peers{source: cfg.Peers}, tls: cfg.TLS,
		http: &http.Client{Transport: cfg.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}
}

// Close drops idle connections.
func (r *Router) Close() { r.http.CloseIdleConnections() }

// Page is that of StateSource, of any partition. The Gap of a *PartitionsError says who has it, as far as is known.
func (r *Router) Page(ctx context.Context, q PageQuery) (*Page, error) {
	limit := forwardTimeout
	if q.MaxStaleness > 0 {
		limit = forwardTimeoutStale
	}
	return lookup[*Page]{
		partition: q.Partition, maxStaleness: q.MaxStaleness, limit: limit,
		local: func(ctx context.Context, stale time.Duration) (*Page, error) {
			q := q
			q.MaxStaleness = stale
			return r.state.Page(ctx, q)
		},
		remote: func(ctx context.Context, c peerClient) (*Page, error) {
			res, err := c.state.ScanState(ctx, connect.NewRequest(&weirpb.ScanStateRequest{
				App: r.info.App, Table: fmt.Sprint(q.Table), Start: q.From, End: q.To, Partition: &q.Partition, Limit: int32(q.Limit),
				MaxStalenessMs: q.MaxStaleness.Milliseconds(),
			}))
			if err != nil {
				return nil, err
			}
			return pageOf(res.Msg)
		},
	}.run(ctx, r)
}

func pageOf(m *weirpb.ScanStateResponse) (*Page, error) {
	if len(m.GetAsOf()) != 1 {
		return nil, sourceBug("a page of one partition came with %d as-ofs", len(m.GetAsOf()))
	}
	p := &Page{AsOf: m.GetAsOf()[0], More: m.GetNextPageToken() != ""}
	for _, e := range m.GetEntries() {
		p.Entries = append(p.Entries, Entry{e.GetKey(), e.GetValue()})
	}
	return p, nil
}

// hash is Hash of StateSource, of any partition.
func (r *Router) hash(ctx context.Context, partition int32, maxStaleness time.Duration) (*weirpb.PartitionHash, error) {
	return lookup[*weirpb.PartitionHash]{
		partition: partition, maxStaleness: maxStaleness, limit: hashLimit,
		local: func(ctx context.Context, stale time.Duration) (*weirpb.PartitionHash, error) {
			return r.state.Hash(ctx, partition, stale)
		},
		remote: func(ctx context.Context, c peerClient) (*weirpb.PartitionHash, error) {
			res, err := c.state.HashState(ctx, connect.NewRequest(&weirpb.HashStateRequest{
				App: r.info.App, Partition: &partition, MaxStalenessMs: maxStaleness.Milliseconds(),
			}))
			if err != nil {
				return nil, err
			}
			if len(res.Msg.GetPartitions()) != 1 {
				return nil, sourceBug("the hash of one partition came as %d", len(res.Msg.GetPartitions()))
			}
			return res.Msg.GetPartitions()[0], nil
		},
	}.run(ctx, r)
}

// lookup is a question about one partition.
type lookup[R any] struct {
	partition    int32
	maxStaleness time.Duration
	limit        time.Duration // of passing it on
	local        func(ctx context.Context, maxStaleness time.Duration) (R, error)
	remote       func(ctx context.Context, c peerClient) (R, error)
}

// run asks where the partition is. Its *PartitionsError tells what was tried.
func (a lookup[R]) run(ctx context.Context, r *Router) (R, error) {
	res, err := a.local(ctx, 0)
	var gaps *PartitionsError
	if !errors.As(err, &gaps) {
		return res, err
	}
	if requestMetaOf(ctx).forwarded {
		if a.maxStaleness == 0 {
			return res, err
		}
		return a.local(ctx, a.maxStaleness)
	}
	t := attempts{gap: gaps.Gaps[0]}
	var list []Peer
	asked := ""
	for _, anew := range []bool{false, true} {
		var unknown error
		list, unknown = r.peers.get(ctx, anew)
		if ctx.Err() != nil {
			return res, ctx.Err()
		}
		o, known := owner(list, a.partition)
		switch {
		case known && o.Instance == r.info.Instance && anew:
			if res, err := a.local(ctx, 0); !errors.As(err, &gaps) { // it may have come meanwhile
				return res, err
			}
			t = attempts{gap: gaps.Gaps[0]}
			t.add("the group gives it to this process, %s", o.Instance)
		case known && o.Instance != r.info.Instance && o.Instance+o.Endpoint != asked:
			asked = o.Instance + o.Endpoint
			res, no, err := a.forward(ctx, r, o)
			if no == "" {
				return res, err
			}
			t.add("its owner %s", no)
		case !known && anew && unknown == nil:
			t.add("no process of the group has it")
		}
		if unknown != nil && anew {
			t.add("the brokers do not say who has it: %v", unknown)
		}
	}
	if a.maxStaleness == 0 {
		return res, &PartitionsError{Gaps: []PartitionGap{t.gap}}
	}
	return a.standby(ctx, r, list, t)
}

// standby asks those that keep the partition warm, this process first.
func (a lookup[R]) standby(ctx context.Context, r *Router, list []Peer, t attempts) (R, error) {
	res, err := a.local(ctx, a.maxStaleness)
	var gaps *PartitionsError
	if !errors.As(err, &gaps) {
		return res, err
	}
	if gaps.Gaps[0].State == StateStandby {
		t.gap.State = StateStandby
		t.add("here it is one, %s", gaps.Gaps[0].Reason)
	}
	for _, p := range list {
		if p.Instance == r.info.Instance || !slices.Contains(p.Standbys, a.partition) {
			continue
		}
		res, no, err := a.forward(ctx, r, p)
		if no == "" {
			return res, err
		}
		t.add("its standby %s", no)
	}
	return res, &PartitionsError{Gaps: []PartitionGap{t.gap}}
}

// attempts is a gap with what was tried to fill it.
type attempts struct{ gap PartitionGap }

func (t *attempts) add(format string, args ...any) {
	if t.gap.Reason != "" {
		t.gap.Reason += "; "
	}
	t.gap.Reason += fmt.Sprintf(format, args...)
}

// forward passes the question on to p. If p cannot answer it, no says who does not and why.
func (a lookup[R]) forward(ctx context.Context, r *Router, p Peer) (res R, no string, err error) {
	if p.Endpoint == "" {
		return res, p.Instance + " does not say where its API is", nil
	}
	end, ends := ctx.Deadline()
	callers := ends && time.Until(end) < a.limit // time is up for the caller before it is for p
	bounded, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	res, err = a.remote(bounded, r.client(p))
	switch {
	case err == nil:
		return res, "", nil
	case callers && connect.CodeOf(err) == connect.CodeDeadlineExceeded:
		return res, "", fmt.Errorf("%s at %s: %w", p.Instance, p.Endpoint, context.DeadlineExceeded)
	case cannotAnswer(ctx, err):
		return res, fmt.Sprintf("%s at %s does not answer for it: %s", p.Instance, p.Endpoint, message(err)), nil
	}
	return res, "", errorf(connect.CodeOf(err), "%s at %s, which has partition %d, says: %s", p.Instance, p.Endpoint, a.partition, message(err))
}
