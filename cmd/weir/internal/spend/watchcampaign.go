package spend

import (
	"context"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/internal/pause"
)

// watchCampaign shows the answer to q, and shows it again after each commit that changes it, until
// ctx ends. On a terminal each answer replaces the one before. After the first answer, an error is
// noted and the next second tries again.
func watchCampaign(ctx context.Context, a *cli.App, q *weirpb.GetSpendRequest) error {
	if err := a.NoCSV(); err != nil {
		return err
	}
	client, err := connect.APIClient(a)
	if err != nil {
		return err
	}
	defer client.Close()
	poll := &weirpb.PollSpendRequest{Spend: q}
	for {
		err := showNext(ctx, a, client, poll)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && poll.Version == "":
			return err
		case err != nil:
			a.Notef("%v: trying again", err)
			pause.For(ctx, watchEvery)
		}
	}
}

// showNext shows the answer to a poll, if there is one, and makes it the poll for the next answer.
func showNext(ctx context.Context, a *cli.App, client *api.Client, poll *weirpb.PollSpendRequest) error {
	res, err := client.PollSpend(ctx, poll)
	if err != nil || res.Spend == nil {
		return err
	}
	if err := a.ClearScreen(); err != nil {
		return err
	}
	poll.Version = res.GetVersion()
	poll.Spend.Account, poll.Spend.Wait, poll.Spend.MaxStalenessMs = res.GetSpend().GetAccount(), false, 0
	return connect.Print(a, res.GetSpend(), render.SpendJSON, table(a, render.SpendTable))
}
