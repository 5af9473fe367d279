package dev

import (
	"context"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/events/loadgen"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/spendcache/client"
)

// adServer is the ad server of the load: it asks weir whether campaigns take part in auctions, as
// the ad server of a user does.
type adServer struct {
	*client.Client
	api *api.Client
}

// newAdServer returns an ad server that asks the API at a URL.
func newAdServer(cfg *config.Config, url string) (*adServer, error) {
	x, err := node.NewAccess(cfg)
	if err != nil {
		return nil, err
	}
	// Most campaigns of the load have no budgets. They are to spend nevertheless.
	c, err := client.New(client.Config{Endpoints: []string{url}, Token: x.Token, Roots: x.Roots, ServeUnpaced: true})
	if err != nil {
		return nil, err
	}
	return &adServer{c, x.Client(url)}, nil
}

func (s *adServer) close() {
	s.Client.Close()
	s.api.Close()
}

// takesPart implements loadgen.Config.TakesPart.
func (s *adServer) takesPart(ctx context.Context) func(account, campaign, request string) bool {
	return func(account, campaign, request string) bool {
		return s.Decide(ctx, client.Ad{Account: account, Campaign: campaign, Request: request}).Serve
	}
}

// shown implements loadgen.Config.Shown.
func (s *adServer) shown(account, campaign string, expectedMicros int64) {
	s.Shown(client.Shown{Account: account, Campaign: campaign, ExpectedMicros: expectedMicros})
}

// demoAccount is the account of the load that has budgets.
const demoAccount = "acct-000001"

// setBudgets gives demoAccount budgets, unless it has some. rate is the number of events per second
// of all datacentres.
func (s *adServer) setBudgets(ctx context.Context, rate int64) error {
	_, err := s.api.GetBudgets(ctx, &weirpb.GetBudgetsRequest{Account: demoAccount})
	if connect.CodeOf(err) != connect.CodeNotFound {
		return err
	}
	m := &structpb.Struct{}
	if err := m.UnmarshalJSON(demoBudgets(time.Now(), rate).Encode()); err != nil {
		return err
	}
	_, err = s.api.SetBudgets(ctx, &weirpb.SetBudgetsRequest{Documents: []*structpb.Struct{m}})
	return err
}

// demoBudgets returns budgets that pacing has to spread over what is left of the day: of each
// campaign about 40 % of what it would spend.
func demoBudgets(now time.Time, rate int64) *budget.Document {
	now = now.UTC()
	left := now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now)
	daily := func(unitsPerHour float64) budget.Limit { // at 1000 events per second
		cents := int64(unitsPerHour * left.Hours() * float64(rate) / 1000 * 100)
		return budget.Limit{Kind: budget.Daily, Micros: max(1, cents) * 10_000}
	}
	const shared = "seasonal"
	d := &budget.Document{
		Account: demoAccount, Zone: "UTC", Currency: "EUR", Shared: []budget.Shared{{ID: shared, Limit: daily(4)}},
		Campaigns: []budget.Campaign{
			{ID: loadgen.Campaign(1), Limit: daily(150)},
			{ID: loadgen.Campaign(201), Limit: daily(0.3), Shared: shared},
			{ID: loadgen.Campaign(401), Shared: shared},
		},
	}
	return d
}

// pacedExample is the campaign of demoAccount with the most spend.
func pacedExample() string { return loadgen.Campaign(1) }
