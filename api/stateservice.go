package api

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"connectrpc.com/connect"
	"golang.org/x/sync/errgroup"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/stream"
)

// hashLimit is the time limit for the hash of a partition, which reads all of it.
const hashLimit = time.Minute

// stateService implements weir.v1.StateService.
type stateService struct {
	apps *apps
}

// router returns the router of the application that a request names, and the application.
func (s *stateService) router(ctx context.Context, app string) (*Router, StateInfo, error) {
	a, err := s.apps.withState(ctx, app)
	if err != nil {
		return nil, StateInfo{}, err
	}
	info := a.State.state.Info()
	if info.Partitions == 0 {
		return nil, info, errorf(connect.CodeUnavailable, "%s has not started in this process: try again in a moment, or look at its log",
			a.Name)
	}
	return a.State, info, nil
}

// GetState returns the value of one key.
func (s *stateService) GetState(ctx context.Context,
	req *connect.Request[weirpb.GetStateRequest],
) (*connect.Response[weirpb.GetStateResponse], error) {
	router, info, err := s.router(ctx, req.Msg.GetApp())
	if err != nil {
		return nil, err
	}
	q, err := info.keyQuery(req.Msg)
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("key %q of table %s in partition %d", q.key, req.Msg.GetTable(), q.partition)
	page, err := router.Page(ctx, PageQuery{
		Partition: q.partition, Table: q.table, From: q.key, To: append(bytes.Clone(q.key), 0), Limit: 1, MaxStaleness: q.maxStaleness,
	})
	if err != nil {
		return nil, sourceError(err, what)
	}
	if len(page.Entries) == 0 {
		read := []*weirpb.AsOf{page.AsOf}
		return nil, withAsOf(
			errorf(connect.CodeNotFound, "%s does not exist, as of %s: scan the table to list its keys", what, asOfText(read)), read)
	}
	e := info.entry(q.table, q.partition, page.Entries[0])
	return connect.NewResponse(&weirpb.GetStateResponse{Entry: e, AsOf: page.AsOf}), nil
}

// ScanState returns one page of a range.
func (s *stateService) ScanState(ctx context.Context,
	req *connect.Request[weirpb.ScanStateRequest],
) (*connect.Response[weirpb.ScanStateResponse], error) {
	router, info, err := s.router(ctx, req.Msg.GetApp())
	if err != nil {
		return nil, err
	}
	q, err := info.scanQuery(req.Msg)
	if err != nil {
		return nil, err
	}
	at := position{q.first, q.from}
	if t := req.Msg.GetPageToken(); t != "" {
		if at, err = q.resume(t); err != nil {
			return nil, err
		}
	}
	out := &weirpb.ScanStateResponse{}
	size := 0
	for p := at.partition; p <= q.last; p++ {
		if len(out.Entries) >= q.limit || size >= MaxPageBytes {
			out.NextPageToken = position{p, at.from}.token(q.fingerprint())
			break
		}
		page, err := router.Page(ctx, PageQuery{
			Partition: p, Table: q.table, From: at.from, To: q.to, Limit: q.limit - len(out.Entries), MaxStaleness: q.maxStaleness,
		})
		if err != nil {
			return nil, sourceError(err, "table "+req.Msg.GetTable())
		}
		out.AsOf = append(out.AsOf, page.AsOf)
		for _, e := range page.Entries {
			size += len(e.Key) + len(e.Value)
			if requestMetaOf(ctx).forwarded { // the process that forwarded the request knows the schema too
				out.Entries = append(out.Entries, &weirpb.StateEntry{Partition: p, Key: e.Key, Value: e.Value})
				continue
			}
			out.Entries = append(out.Entries, info.entry(q.table, p, e))
		}
		if page.More {
			if len(page.Entries) == 0 {
				return nil, sourceBug("a page of partition %d is empty but not the last", p)
			}
			last := page.Entries[len(page.Entries)-1].Key
			out.NextPageToken = position{p, append(bytes.Clone(last), 0)}.token(q.fingerprint())
			break
		}
		at.from = q.from
	}
	return connect.NewResponse(out), nil
}

// HashState hashes partitions, a few at a time.
func (s *stateService) HashState(ctx context.Context,
	req *connect.Request[weirpb.HashStateRequest],
) (*connect.Response[weirpb.HashStateResponse], error) {
	router, info, err := s.router(ctx, req.Msg.GetApp())
	if err != nil {
		return nil, err
	}
	stale, err := staleness(req.Msg.GetMaxStalenessMs())
	if err != nil {
		return nil, err
	}
	first, last := int32(0), info.Partitions-1
	if req.Msg.Partition != nil {
		first, last = req.Msg.GetPartition(), req.Msg.GetPartition()
		if err := info.checkPartition(first); err != nil {
			return nil, err
		}
	}
	out := &weirpb.HashStateResponse{Partitions: make([]*weirpb.PartitionHash, last-first+1)}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for p := first; p <= last; p++ {
		g.Go(func() error {
			h, err := router.hash(ctx, p, stale)
			if err != nil {
				return sourceError(err, fmt.Sprintf("the hash of partition %d", p))
			}
			for _, t := range h.GetTables() {
				t.Name = info.name(byte(t.GetTable()))
			}
			out.Partitions[p-first] = h
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return connect.NewResponse(out), nil
}

// name returns the name of a table, empty if it has none.
func (i StateInfo) name(table byte) string {
	for _, t := range i.Tables {
		if t.Number == table {
			return t.Name
		}
	}
	return ""
}

// entry decodes key and value by the description of their table, if it has one.
func (i StateInfo) entry(table byte, partition int32, e Entry) *weirpb.StateEntry {
	out := &weirpb.StateEntry{Partition: partition, Key: e.Key, Value: e.Value}
	at := slices.IndexFunc(i.Tables, func(t stream.TableInfo) bool { return t.Number == table })
	if at < 0 {
		return out
	}
	t := i.Tables[at]
	show := func(what string, b []byte, by func([]byte) ([]byte, error)) string {
		if by == nil {
			return ""
		}
		text, err := by(b)
		if err != nil {
			if out.JsonError != "" {
				out.JsonError += "; "
			}
			out.JsonError += fmt.Sprintf("the %s does not match the schema of table %s in this version of the program: %v", what, t.Name,
				err)
			return ""
		}
		return string(text)
	}
	out.KeyJson, out.Json = show("key", e.Key, t.Key), show("value", e.Value, t.Value)
	return out
}
