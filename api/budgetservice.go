package api

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"connectrpc.com/connect"
	"github.com/cespare/xxhash/v2"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/pacing/budget"
)

// MaxBudgets is the maximum number of documents of a request.
const MaxBudgets = 1000

const (
	budgetReads    = 16               // accounts of a request that are read at once
	budgetWait     = 10 * time.Second // for documents that were written to be applied
	budgetHistory  = 48 * time.Hour   // for which GetBudgets has a version that was replaced
	shownDocuments = 20               // refused documents in the text of an error
)

// budgetService implements weir.v1.BudgetService.
type budgetService struct {
	source BudgetSource // nil: this process has no budgets
	sink   BudgetSink
	apps   *apps
	// setting has the place of the one request that compares and writes: the second of two requests
	// at this process sees the versions of the first.
	setting chan struct{}
}

// available returns an error in a process without the role pacing.
func (s *budgetService) available() error {
	if s.source == nil || s.sink == nil {
		return errorf(connect.CodeUnimplemented, "this process%s serves no budgets: send the request to a process with the role pacing",
			s.apps.running())
	}
	return nil
}

// setting is a document of a request.
type setting struct {
	*budget.Document
	latest    *budget.Document // of the account, before; nil: none
	unchanged bool
	refused   string
}

// SetBudgets checks documents and writes them. weir.proto lists its errors.
func (s *budgetService) SetBudgets(ctx context.Context,
	req *connect.Request[weirpb.SetBudgetsRequest],
) (*connect.Response[weirpb.SetBudgetsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	list, err := decodeBudgets(req.Msg.GetDocuments())
	if err != nil {
		return nil, err
	}
	if !req.Msg.GetCheckOnly() {
		select {
		case s.setting <- struct{}{}:
			defer func() { <-s.setting }()
		case <-ctx.Done():
			return nil, errorf(connect.CodeUnavailable, "nothing was written: another request is being written: repeat the request")
		}
	}
	if err := s.compare(ctx, list); err != nil {
		return nil, err
	}
	out := &weirpb.SetBudgetsResponse{}
	var write []*budget.Document
	for i := range list {
		x := &list[i]
		row := &weirpb.BudgetResult{Account: x.Account, Version: x.Version, Unchanged: x.unchanged}
		if x.latest != nil {
			row.ReplacedVersion = x.latest.Version
		}
		if !x.unchanged {
			write = append(write, x.Document)
		}
		out.Results = append(out.Results, row)
	}
	if !req.Msg.GetCheckOnly() && len(write) > 0 {
		if err := s.write(ctx, write); err != nil {
			return nil, err
		}
	}
	return connect.NewResponse(out), nil
}

// decodeBudgets returns the documents of a request. Its error has the problems of all of them.
func decodeBudgets(in []*structpb.Struct) (list []setting, err error) {
	if n := len(in); n < 1 || n > MaxBudgets {
		return nil, invalid("the request has %d documents: send 1 to %d", n, MaxBudgets)
	}
	var refused []string
	accounts := map[string]int{}
	for i, m := range in {
		text, err := protojson.Marshal(m)
		if err != nil { // a number that is not finite
			refused = append(refused, fmt.Sprintf("documents[%d]: %v", i, err))
			continue
		}
		d, err := budget.Decode(text)
		if err != nil {
			refused = append(refused, fmt.Sprintf("documents[%d]: %v", i, err))
			continue
		}
		if first, twice := accounts[d.Account]; twice {
			refused = append(refused, fmt.Sprintf("documents[%d]: account %q is in documents[%d] too: send one document for each account",
				i, d.Account, first))
		}
		accounts[d.Account] = i
		list = append(list, setting{Document: d})
	}
	if len(refused) > 0 {
		return nil, invalid("nothing was written: %s", joined(refused))
	}
	return list, nil
}

// joined joins the first of the texts.
func joined(texts []string) string {
	more := ""
	if n := len(texts) - shownDocuments; n > 0 {
		texts, more = texts[:shownDocuments], fmt.Sprintf("; and %d more documents", n)
	}
	return strings.Join(texts, "; ") + more
}

// compare sets the versions of documents without one. It returns an error if a version is not
// greater than that of its account.
func (s *budgetService) compare(ctx context.Context, list []setting) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(budgetReads)
	for i := range list {
		x := &list[i]
		g.Go(func() error {
			v, _, err := s.source.Budgets(ctx, x.Account, 0)
			if err != nil {
				return sourceError(err, fmt.Sprintf("the budgets of account %q", x.Account))
			}
			now := time.Now().UnixMilli()
			x.choose(v, now)
			if x.refused != "" || x.unchanged {
				return nil
			}
			if why := v.Full(x.Document, now); why != "" {
				x.refused = fmt.Sprintf("account %q: %s", x.Account, why)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var refused []string
	for i := range list {
		if why := list[i].refused; why != "" {
			refused = append(refused, why)
		}
	}
	if len(refused) > 0 {
		return errorf(connect.CodeAborted, "nothing was written: %s", joined(refused))
	}
	return nil
}

// choose sets the version of the document, among the versions of its account.
func (x *setting) choose(v budget.Versions, nowMs int64) {
	latest := v.Latest()
	x.latest = latest
	switch {
	case latest == nil:
		x.Version = max(1, x.Version)
	case x.Version == 0 && budget.SameContent(x.Document, latest):
		x.Version, x.unchanged = latest.Version, true
	case x.Version == 0 && latest.EffectiveMs > nowMs && x.EffectiveMs <= latest.EffectiveMs: // it would end the scheduled one
		if inForce := v.At(nowMs); inForce != nil && budget.SameContent(x.Document, inForce) {
			x.Version, x.unchanged = inForce.Version, true
			return
		}
		x.refused = fmt.Sprintf("account %q has version %d, which holds from %s on, and the document without a version would remove it: "+
			"send version %d to remove it, or a document that holds later", x.Account, latest.Version,
			time.UnixMilli(latest.EffectiveMs).UTC().Format(time.RFC3339), latest.Version+1)
	case x.Version == 0 && latest.Version == budget.MaxVersion:
		x.refused = fmt.Sprintf("account %q has version %d, which is the greatest: no version can follow it", x.Account, latest.Version)
	case x.Version == 0:
		x.Version = latest.Version + 1
	case x.Version <= latest.Version && holds(v, x.Document):
		x.unchanged = true
	case x.Version <= latest.Version:
		x.refused = fmt.Sprintf(
			"account %q has version %d, and the document has version %d: read the budgets again, and send a greater version, or none",
			x.Account, latest.Version, x.Version)
	}
}

// write writes documents and returns when they are applied.
func (s *budgetService) write(ctx context.Context, list []*budget.Document) error {
	limit, cancel := context.WithTimeout(ctx, budgetWait)
	defer cancel()
	if err := s.sink.Produce(limit, list); err != nil {
		return errorf(connect.CodeUnavailable, "the budgets could not be written, or not all of them: repeat the request: %w", err)
	}
	g, limit := errgroup.WithContext(limit)
	g.SetLimit(budgetReads)
	for _, d := range list {
		g.Go(func() error { return s.await(limit, d) })
	}
	return g.Wait()
}

// await returns once the account of d has its version or a greater one.
func (s *budgetService) await(ctx context.Context, d *budget.Document) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		v, _, err := s.source.Budgets(ctx, d.Account, 0)
		var gaps *PartitionsError
		if err != nil && !errors.As(err, &gaps) && ctx.Err() == nil {
			return sourceError(err, fmt.Sprintf("the budgets of account %q", d.Account))
		}
		if latest := v.Latest(); err == nil && latest != nil && latest.Version >= d.Version {
			if holds(v, d) {
				return nil
			}
			return errorf(connect.CodeAborted,
				"version %d of account %q is not there, because another request has written version %d at the same time: read the budgets again",
				d.Version, d.Account, latest.Version)
		}
		if !pause.For(ctx, wait) {
			return errorf(connect.CodeUnavailable,
				"version %d of account %q is written, and was not applied within %s: repeat the request; the partitions and the dead letters of pacing have the reason", d.Version, d.Account, budgetWait)
		}
	}
}

// GetBudgets returns the versions of an account, but for those that were replaced long ago.
func (s *budgetService) GetBudgets(ctx context.Context,
	req *connect.Request[weirpb.GetBudgetsRequest],
) (*connect.Response[weirpb.GetBudgetsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	account := req.Msg.GetAccount()
	stale, err := staleness(req.Msg.GetMaxStalenessMs())
	if err == nil {
		err = checkAccount(account)
	}
	if err != nil {
		return nil, err
	}
	v, at, err := s.source.Budgets(ctx, account, stale)
	if err != nil {
		return nil, sourceError(err, fmt.Sprintf("the budgets of account %q", account))
	}
	if len(v.List) == 0 {
		return nil, withAsOf(
			errorf(connect.CodeNotFound, "account %q has no budgets: check the id, or set them", account), []*weirpb.AsOf{at})
	}
	out := &weirpb.GetBudgetsResponse{AsOf: at}
	now := time.Now().UnixMilli()
	for i, d := range v.List {
		next := sameAccount(v.List, i)
		if next != nil && next.EffectiveMs <= now-budgetHistory.Milliseconds() {
			continue
		}
		row := newBudgetVersion(d, next, now)
		row.Document = &structpb.Struct{}
		if err := protojson.Unmarshal(d.Encode(), row.Document); err != nil {
			return nil, sourceBug("version %d of account %q is not JSON: %v", d.Version, account, err)
		}
		out.Versions = append(out.Versions, row)
	}
	return connect.NewResponse(out), nil
}

// ListBudgets returns a page of versions.
func (s *budgetService) ListBudgets(ctx context.Context,
	req *connect.Request[weirpb.ListBudgetsRequest],
) (*connect.Response[weirpb.ListBudgetsResponse], error) {
	if err := s.available(); err != nil {
		return nil, err
	}
	stale, err := staleness(req.Msg.GetMaxStalenessMs())
	if err != nil {
		return nil, err
	}
	limit := int(req.Msg.GetLimit())
	if limit == 0 {
		limit = defaultPageKeys
	}
	if limit < 1 || limit > MaxBudgetVersions {
		return nil, invalid("limit %d is out of range: use 1 to %d, and page_token for more", limit, MaxBudgetVersions)
	}
	at, fingerprint := position{}, xxhash.Sum64String("budgets")
	if t := req.Msg.GetPageToken(); t != "" {
		if at, err = parseToken(t, fingerprint); err != nil {
			return nil, err
		}
		if !at.inRange(s.source.Partitions()) {
			return nil, invalid("page_token is of a partition that does not exist: omit it to start again")
		}
	}
	list, at, err := listBudgets(ctx, s.source,
		PageQuery{Partition: at.partition, From: at.from, Limit: limit, MaxStaleness: stale})
	if err != nil {
		return nil, sourceError(err, "the list of budgets")
	}
	out := &weirpb.ListBudgetsResponse{}
	now := time.Now().UnixMilli()
	for i, d := range list {
		next := sameAccount(list, i)
		if i == len(list)-1 {
			if next, err = successor(ctx, s.source, d, stale); err != nil {
				return nil, sourceError(err, "the list of budgets")
			}
		}
		out.Versions = append(out.Versions, newBudgetVersion(d, next, now))
	}
	if at.partition < s.source.Partitions() {
		out.NextPageToken = at.token(fingerprint)
	}
	return connect.NewResponse(out), nil
}
