package pacing

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

// showing is a run of `weir pacing show`.
type showing struct {
	a                 *cli.App
	account, campaign string // one of them is set
	staleMs           int64
}

func newShowCmd(a *cli.App) *cobra.Command {
	r := showing{a: a}
	var stale time.Duration
	c := &cobra.Command{
		Use:   "show [CAMPAIGN]",
		Short: "Explain how a campaign is paced, or list the campaigns of an account",
		Long: "Explain in sentences how a campaign is paced: in how many auctions it takes part, with which bids,\n" +
			"why, and what limits it. Without --account all accounts are searched: if several have the campaign,\n" +
			"a table has a line for each of them. Without a campaign, the table has all campaigns, arms and\n" +
			"shared budgets of the account.\n\n" +
			"A controller computes the parameters every ten seconds. age is the time since the shown ones were\n" +
			"computed, at most about a minute while a controller runs. docs/pacing.md has the reasons.",
		Example: "  weir pacing show spring\n" +
			"  weir pacing show spring --account acme -o json\n" +
			"  weir pacing show --account acme -o csv",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if len(args) == 1 {
				r.campaign = args[0]
			}
			if r.campaign == "" && r.account == "" {
				return cli.UsageError("there is neither a campaign nor an account",
					"write `weir pacing show CAMPAIGN`, or --account ACCOUNT for all campaigns of an account")
			}
			if r.staleMs, err = connect.StalenessMs(stale); err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	f := c.Flags()
	f.StringVar(&r.account, "account", "", "account id (default: all accounts that have the campaign)")
	f.DurationVar(&stale, "max-staleness", 0, connect.MaxStalenessHelp)
	return c
}

func (r *showing) run(ctx context.Context) error {
	client, err := connect.APIClient(r.a)
	if err != nil {
		return err
	}
	defer client.Close()
	list, err := r.read(ctx, client)
	if err != nil {
		return err
	}
	if r.a.Structured() {
		return cli.PrintRows(r.a, render.PacingRows(list))
	}
	return r.a.Print(func(w io.Writer) error {
		text := ""
		if r.campaign != "" && len(list) == 1 {
			if text = render.PacingText(list[0]); r.a.Format == cli.FormatWide {
				text += "\n" + render.PacingTable(list)
			}
		} else {
			text = render.PacingTable(list)
		}
		_, err := io.WriteString(w, text)
		return err
	})
}

// read returns the pacing of the account, or of each account that has the campaign.
func (r *showing) read(ctx context.Context, client *api.Client) ([]*weirpb.AccountPacing, error) {
	if r.account != "" {
		return r.one(ctx, client, r.account)
	}
	list, err := r.search(ctx, client)
	if err == nil && len(list) == 1 {
		return r.one(ctx, client, list[0].GetAccount())
	}
	return list, err
}

func (r *showing) one(ctx context.Context, client *api.Client, account string) ([]*weirpb.AccountPacing, error) {
	res, err := client.GetPacing(ctx, &weirpb.GetPacingRequest{Account: account, Campaign: r.campaign, MaxStalenessMs: r.staleMs})
	if err != nil {
		return nil, err
	}
	return []*weirpb.AccountPacing{res.GetPacing()}, nil
}

// search returns the accounts that have the campaign.
func (r *showing) search(ctx context.Context, client *api.Client) (list []*weirpb.AccountPacing, err error) {
	req := &weirpb.ListPacingRequest{Campaign: r.campaign, Limit: api.MaxPacedAccounts, MaxStalenessMs: r.staleMs}
	for {
		res, err := client.ListPacing(ctx, req)
		if err != nil {
			return nil, err
		}
		list = append(list, res.GetAccounts()...)
		if req.PageToken = res.GetNextPageToken(); req.PageToken == "" {
			break
		}
	}
	if len(list) == 0 {
		return nil, &cli.Failure{
			Code: cli.ExitFailed, What: "not found", Why: fmt.Sprintf("no account that is paced has a campaign %q", r.campaign),
			Do: "check the id, or give the campaign a budget by `weir budget set`, which counts within ten seconds; " +
				"`weir pacing show --account ACCOUNT` lists the campaigns of an account",
		}
	}
	return list, nil
}
