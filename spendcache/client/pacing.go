package client

import (
	"context"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/pacing/control"
)

// Pacing is how the campaigns of an account take part in auctions: an answer of a spend cache, with
// all campaigns and arms of the account. It does not change, and may be used by several goroutines.
type Pacing struct {
	// Name is the account.
	Name string
	// Endpoint is the URL of the spend cache that answered.
	Endpoint string
	// Writer is the datacentre whose controller has computed the parameters; empty: the account has
	// no budgets.
	Writer string

	campaigns    []*weirpb.CampaignParameters // ordered by id
	newestMs     int64                        // age of the newest of them when the cache answered
	serveUnpaced bool
	header
}

func (p *Pacing) head() *header { return &p.header }

// Parameters are how a campaign, or an arm of it, takes part in auctions now.
type Parameters struct {
	// Campaign is the campaign.
	Campaign string
	// Open is the gate: if false, the campaign takes part in no auction.
	Open bool
	// Probability is that of taking part in an auction, 0 to 1.
	Probability float64
	// Multiplier is that of the campaign's bids, 0 to 1.
	Multiplier float64
	// Reason is why the parameters are so: one of the controller, see package pacing/control, or
	// one of this package.
	Reason string
}

// Reasons of this package, beside those of the controller.
const (
	// NotPaced: the budgets do not have the campaign, or not the arm. See Config.ServeUnpaced.
	NotPaced = "not_paced"
	// NotKnown: no spend cache has answered for the account.
	NotKnown = "not_known"
	// Held: the parameters are older than Config.StaleParameters, and stay as they are.
	Held = string(control.Stale)
	// EstimateSpent: a budget is spent by now, if the spend has continued at its mean rate.
	EstimateSpent = "estimate_spent"
	// TooOld: the parameters are older than Config.Unusable, so the campaign has stopped.
	TooOld = string(control.TooOld)
)

// Ad is a campaign that could take part in an auction.
type Ad struct {
	Account, Campaign string
	// Arm is the arm of an experiment. Empty: the campaign as a whole.
	Arm string
	// Request identifies the auction: the decision of one request and campaign is always the same
	// while the parameters are.
	Request string
}

// Decision is whether a campaign takes part in an auction.
type Decision struct {
	// Serve is whether it does.
	Serve bool
	// Parameters are those of the decision. Multiply the bid by Multiplier.
	Parameters
}

// Decide decides whether a campaign takes part in an auction. It waits as Pacing does. Without an
// answer for the account, the campaign takes part in none.
func (c *Client) Decide(ctx context.Context, ad Ad) Decision {
	p, err := c.Pacing(ctx, ad.Account)
	if err != nil {
		return Decision{Parameters: Parameters{Campaign: ad.Campaign, Reason: NotKnown}}
	}
	q := p.Arm(ad.Campaign, ad.Arm)
	return Decision{q.Serve(ad.Request), q}
}

// Pacing returns how the campaigns of an account take part in auctions. It waits, and returns
// errors, as Account does.
func (c *Client) Pacing(ctx context.Context, account string) (*Pacing, error) {
	return c.pacing.get(ctx, account)
}

// Prefetch begins to read how accounts are paced, where no young answer is in memory, and returns
// at once. An ad server calls it as soon as it knows which accounts an ad request may be about.
func (c *Client) Prefetch(accounts ...string) {
	for _, account := range accounts {
		c.pacing.prefetch(account)
	}
}

// askPacing asks an endpoint how an account is paced.
func (c *Client) askPacing(ctx context.Context, e *endpoint, account string) (*Pacing, error) {
	began := time.Now()
	res, err := e.cache.GetParameters(ctx, connect.NewRequest(&weirpb.GetParametersRequest{Account: account}))
	if err != nil {
		return nil, err
	}
	m, now := res.Msg, time.Now()
	return &Pacing{
		Name: m.GetAccount(), Endpoint: e.url, Writer: m.GetWriterDc(), campaigns: m.GetCampaigns(), newestMs: m.GetAgeMs(),
		serveUnpaced: c.cfg.ServeUnpaced,
		header: header{
			mode: Normal, fetched: now, age: time.Duration(m.GetAgeMs())*time.Millisecond + now.Sub(began),
			stale: c.cfg.StaleParameters, unusable: c.cfg.Unusable, tickMs: m.GetTickMs(), first: now,
		},
	}, nil
}

// Serve reports whether the campaign takes part in the auction of a request. It is the same for the
// same request, as long as the parameters are.
func (p Parameters) Serve(request string) bool {
	return p.Open && (p.Probability >= 1 || control.Coin(request, p.Campaign) < p.Probability)
}

// Campaigns returns the ids of the campaigns that have parameters, in order.
func (p *Pacing) Campaigns() (ids []string) {
	for _, m := range p.campaigns {
		ids = append(ids, m.GetId())
	}
	return ids
}

// Campaign returns the parameters of a campaign now.
func (p *Pacing) Campaign(campaign string) Parameters { return p.Arm(campaign, "") }

// Arm returns the parameters of an arm of a campaign now. If the budgets do not divide the
// campaign, they are those of the campaign.
func (p *Pacing) Arm(campaign, arm string) Parameters {
	m := find(p.campaigns, campaign)
	if m != nil && arm != "" && len(m.GetArms()) > 0 {
		if of := find(m.GetArms(), arm); of != nil || !p.serveUnpaced {
			m = of
		}
	}
	if m == nil {
		return Parameters{campaign, p.serveUnpaced, 1, 1, NotPaced}
	}
	return p.now(campaign, m)
}

// find returns the parameters of an id; nil: list does not have it.
func find(list []*weirpb.CampaignParameters, id string) *weirpb.CampaignParameters {
	i, ok := slices.BinarySearchFunc(list, id, func(m *weirpb.CampaignParameters, id string) int {
		return strings.Compare(m.GetId(), id)
	})
	if !ok {
		return nil
	}
	return list[i]
}

// now returns the parameters that a campaign or an arm has now. Those that are stale are held. The
// spend since they were written is estimated: it takes some seconds until the controller knows it.
func (p *Pacing) now(campaign string, m *weirpb.CampaignParameters) Parameters {
	out := Parameters{campaign, m.GetOpen(), m.GetProbability(), m.GetMultiplier(), m.GetReason()}
	age := p.Age()
	written := age + time.Duration(max(0, m.GetAgeMs()-p.newestMs))*time.Millisecond
	switch {
	case age >= p.unusable:
		out.Open, out.Reason = false, TooOld
	case !out.Open:
	case m.LastsMs != nil && written >= time.Duration(m.GetLastsMs())*time.Millisecond:
		out.Open, out.Reason = false, EstimateSpent
	case age >= p.stale:
		out.Reason = Held
	}
	return out
}

// Age returns how old the parameters are now: the time since the controller has changed some of
// them. It changes each of them once a minute at least.
func (p *Pacing) Age() time.Duration { return p.ageAt(time.Now()) }

// Mode returns how far the parameters may be trusted now.
func (p *Pacing) Mode() Mode { return p.modeAt(time.Now()) }
