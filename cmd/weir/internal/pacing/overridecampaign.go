package pacing

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/pacing/control"
)

// campaignOverride is a run of `weir pacing override campaign`.
type campaignOverride struct {
	overrideFlags
	a           *cli.App
	req         weirpb.OverrideCampaignRequest
	probability float64
	stop        bool
}

// followWait is how long the command waits until the campaign has the override: two ticks.
const followWait = 20 * time.Second

func newOverrideCampaignCmd(a *cli.App) *cobra.Command {
	r := campaignOverride{a: a}
	c := &cobra.Command{
		Use:   "campaign CAMPAIGN",
		Short: "Stop a campaign for a time, or give it a fixed probability",
		Long: "Stop a campaign for a time, for at most a day, or let it take part in auctions with a fixed\n" +
			"probability. Its budgets limit it as before. The override ends by itself, and --withdraw ends it\n" +
			"before. Another override of the campaign replaces it. Overrides are of one datacentre: give them\n" +
			"in each. To stop a campaign for good, set its budget to 0.\n\n" +
			"The command waits for some seconds until the campaign has an override. Ad servers follow five\n" +
			"seconds later.",
		Example: "  weir pacing override campaign spring --stop --for 2h --why \"wrong creative\"\n" +
			"  weir pacing override campaign spring --account acme --probability 0.3 --for 30m\n" +
			"  weir pacing override campaign spring --withdraw",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.req.Campaign = args[0]
			changed := cmd.Flags().Changed
			if err := r.check(changed("for"), changed("probability")); err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	f := c.Flags()
	f.StringVar(&r.req.Account, "account", "", "account of the campaign (default: the only one that has it)")
	f.BoolVar(&r.stop, "stop", false, "the campaign takes part in no auction")
	f.Float64Var(&r.probability, "probability", 0, "probability that the campaign takes part in an auction, 0.0001 to 1")
	r.add(f, "the campaign")
	return c
}

// check checks the flags.
func (r *campaignOverride) check(hasFor, hasProbability bool) error {
	switch p := r.probability; {
	case r.withdraw && (r.stop || hasFor || hasProbability):
		return cli.UsageError("--withdraw ends an override, and the other flags give one", "leave out --withdraw, or the others")
	case r.withdraw:
	case r.stop == hasProbability || !hasFor:
		return cli.UsageError("an override needs either --stop or --probability, and a time",
			"add --stop --for 10m, or --withdraw to end the override of the campaign")
	case hasProbability && !(p >= control.MinProbability && p <= 1):
		return cli.UsageError(fmt.Sprintf("--probability %g is out of range", p), "use a number from 0.0001 to 1, or --stop")
	}
	r.req.Who, r.req.Why = cli.UserName(), r.why
	if !r.withdraw {
		if err := r.checkTime(); err != nil {
			return err
		}
		r.req.DurationMs, r.req.Probability = r.lasts.Milliseconds(), &r.probability
	}
	return nil
}

func (r *campaignOverride) run(ctx context.Context) error {
	client, err := connect.APIClient(r.a)
	if err != nil {
		return err
	}
	defer client.Close()
	if r.req.Account == "" {
		if r.req.Account, err = r.find(ctx, client); err != nil {
			return err
		}
	}
	res, err := client.OverrideCampaign(ctx, &r.req)
	if err != nil {
		return err
	}
	o := res.GetOverride()
	list := &weirpb.ListOverridesResponse{Campaigns: []*weirpb.CampaignOverride{o}}
	if err := cli.PrintRows(r.a, render.OverrideRows(list)); err != nil || r.withdraw {
		return err
	}
	return r.await(ctx, client, o)
}

// find returns the only account that has the campaign, or an override of it to withdraw.
func (r *campaignOverride) find(ctx context.Context, client *api.Client) (string, error) {
	var names []string
	if r.withdraw {
		res, err := client.ListOverrides(ctx, &weirpb.ListOverridesRequest{})
		if err != nil {
			return "", err
		}
		for _, o := range res.GetCampaigns() {
			if o.GetCampaign() == r.req.GetCampaign() {
				names = append(names, o.GetAccount())
			}
		}
		if len(names) == 0 {
			return "", &cli.Failure{
				Code: cli.ExitFailed, What: "nothing was withdrawn", Why: "no override is in force for a campaign " + r.req.GetCampaign(),
				Do: "`weir pacing override list` lists those in force",
			}
		}
	} else {
		s := showing{a: r.a, campaign: r.req.GetCampaign()}
		list, err := s.search(ctx, client)
		if err != nil {
			return "", err
		}
		for _, p := range list {
			names = append(names, p.GetAccount())
		}
	}
	if len(names) > 1 {
		return "", cli.UsageError(fmt.Sprintf("%d accounts have a campaign %s", len(names), r.req.Campaign),
			"add --account with one of "+strings.Join(names[:min(len(names), 10)], ", "))
	}
	return names[0], nil
}

// await waits until the campaign has the override.
func (r *campaignOverride) await(ctx context.Context, client *api.Client, o *weirpb.CampaignOverride) error {
	obeyed := await(ctx, followWait, func(ctx context.Context) bool {
		res, err := client.GetPacing(ctx, &weirpb.GetPacingRequest{Account: o.GetAccount(), Campaign: o.GetCampaign()})
		list := res.GetPacing().GetCampaigns()
		return err == nil && len(list) == 1 && list[0].GetOverride().GetAtMs() == o.GetAtMs()
	})
	switch {
	case obeyed:
		r.a.Notef("%s of %s has the override", o.GetCampaign(), o.GetAccount())
	case ctx.Err() == nil:
		r.a.Notef("the override is written, and %s of %s did not have it after %s: `weir pacing show` shows when it was paced last",
			o.GetCampaign(), o.GetAccount(), followWait)
	}
	return nil
}
