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

// Router reads the state of any partition: from this process or from the process that owns it.
//
//	request ─▶ this process, as owner ─▶ the cached owner ─▶ the refreshed owner ─▶ standbys
//	                 └ not the owner        └ no answer         └ no answer          with MaxStaleness only
//
// It is safe for concurrent use.
type Router struct {
	state StateSource
	info  StateInfo
	peers *peers
	http  *http.Client
	tls   bool
	scans chan struct{} // a slot for each scan of all campaigns that may run in this process
}

// maxScans is the number of scans of all campaigns that run at once in a process. Others wait: the
// processors of the machine are for the counter.
const maxScans = 2

// RouterConfig configures a Router. State and Peers have no default.
type RouterConfig struct {
	// State reads the partitions of this process.
	State StateSource
	// Peers lists the owners of all partitions.
	Peers PeerSource
	// TLS makes the router call other processes over https, as this process serves. Defaults to
	// plain HTTP.
	TLS bool
	// Roots are the certificate authorities to trust. Defaults to the system's.
	Roots *x509.CertPool
	// Transport carries forwarded requests. Defaults to a new transport with Roots.
	Transport http.RoundTripper
}

// NewRouter returns a router. It starts nothing.
func NewRouter(cfg RouterConfig) *Router {
	if cfg.Transport == nil {
		cfg.Transport = forwardTransport(cfg.Roots)
	}
	return &Router{
		state: cfg.State, info: cfg.State.Info(), peers: &peers{source: cfg.Peers}, tls: cfg.TLS, scans: make(chan struct{}, maxScans),
		http: &http.Client{
			Transport: cfg.Transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Close closes idle connections.
func (r *Router) Close() { r.http.CloseIdleConnections() }

// Page is StateSource.Page for any partition. The Gap of a *PartitionsError names the owner, as far
// as it is known.
func (r *Router) Page(ctx context.Context, q PageQuery) (*Page, error) {
	return lookup[*Page]{
		partition: q.Partition, maxStaleness: q.MaxStaleness, limit: forwardLimit(q.MaxStaleness),
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
		return nil, sourceBug("a page of one partition has %d as_of entries", len(m.GetAsOf()))
	}
	p := &Page{AsOf: m.GetAsOf()[0], More: m.GetNextPageToken() != ""}
	for _, e := range m.GetEntries() {
		p.Entries = append(p.Entries, Entry{e.GetKey(), e.GetValue()})
	}
	return p, nil
}

// hash is StateSource.Hash for any partition.
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
				return nil, sourceBug("the hash of one partition has %d entries", len(res.Msg.GetPartitions()))
			}
			return res.Msg.GetPartitions()[0], nil
		},
	}.run(ctx, r)
}

// lookup is a request about one partition.
type lookup[R any] struct {
	partition    int32
	maxStaleness time.Duration
	limit        time.Duration // timeout of the forwarded request
	local        func(ctx context.Context, maxStaleness time.Duration) (R, error)
	remote       func(ctx context.Context, c peerClient) (R, error)
}

// run sends the request to the process that has the partition. Its *PartitionsError lists the
// attempts.
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
	for _, refresh := range []bool{false, true} {
		var unknown error
		list, unknown = r.peers.get(ctx, refresh)
		if ctx.Err() != nil {
			return res, ctx.Err()
		}
		o, known := owner(list, a.partition)
		switch {
		case known && o.Instance == r.info.Instance && refresh:
			if res, err := a.local(ctx, 0); !errors.As(err, &gaps) { // this process may have got the partition since the first attempt
				return res, err
			}
			t = attempts{gap: gaps.Gaps[0]}
			t.add("the group assigned it to this process, %s", o.Instance)
		case known && o.Instance != r.info.Instance && o.Instance+o.Endpoint != asked:
			asked = o.Instance + o.Endpoint
			res, no, err := a.forward(ctx, r, o)
			if no == "" {
				return res, err
			}
			t.add("its owner %s", no)
		case !known && refresh && unknown == nil:
			t.add("the group has assigned it to no process")
		}
		if unknown != nil && refresh {
			t.add("its owner is unknown, because the brokers did not answer: %v", unknown)
		}
	}
	if a.maxStaleness == 0 {
		return res, &PartitionsError{Gaps: []PartitionGap{t.gap}}
	}
	return a.standby(ctx, r, list, t)
}

// standby asks the standbys of the partition, this process first.
func (a lookup[R]) standby(ctx context.Context, r *Router, list []Peer, t attempts) (R, error) {
	res, err := a.local(ctx, a.maxStaleness)
	var gaps *PartitionsError
	if !errors.As(err, &gaps) {
		return res, err
	}
	if gaps.Gaps[0].State == StateStandby {
		t.gap.State = StateStandby
		t.add("this process is a standby, %s", gaps.Gaps[0].Reason)
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

// attempts is a gap with the attempts to read the partition.
type attempts struct{ gap PartitionGap }

func (t *attempts) add(format string, args ...any) {
	if t.gap.Reason != "" {
		t.gap.Reason += "; "
	}
	t.gap.Reason += fmt.Sprintf(format, args...)
}

// forward forwards the request to p. If p cannot answer, no has the process and the reason.
func (a lookup[R]) forward(ctx context.Context, r *Router, p Peer) (res R, no string, err error) {
	if p.Endpoint == "" {
		return res, p.Instance + " has no API address", nil
	}
	end, ends := ctx.Deadline()
	callers := ends && time.Until(end) < a.limit // the caller's deadline comes before p's
	bounded, cancel := context.WithTimeout(ctx, a.limit)
	defer cancel()
	res, err = a.remote(bounded, r.client(p))
	switch {
	case err == nil:
		return res, "", nil
	case callers && connect.CodeOf(err) == connect.CodeDeadlineExceeded:
		return res, "", fmt.Errorf("%s at %s: %w", p.Instance, p.Endpoint, context.DeadlineExceeded)
	case cannotAnswer(ctx, err):
		return res, fmt.Sprintf("%s at %s cannot answer: %s", p.Instance, p.Endpoint, message(err)), nil
	}
	return res, "", errorf(connect.CodeOf(err), "%s at %s, the owner of partition %d, answered: %s", p.Instance, p.Endpoint, a.partition,
		message(err))
}
