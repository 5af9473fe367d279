package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
)

// spendCommands returns `weir spend` and `weir ingest`.
func spendCommands(a *app) []*cobra.Command {
	return []*cobra.Command{newSpendCmd(a), newIngestCmd(a)}
}

func newSpendCmd(a *app) *cobra.Command {
	c := &cobra.Command{Use: "spend", Short: "Shows what campaigns have spent, and how healthy the counting is"}
	c.AddCommand(newSpendShowCmd(a), newSpendHealthCmd(a))
	return c
}

func newSpendShowCmd(a *app) *cobra.Command {
	req := &weirpb.GetSpendRequest{}
	var stale time.Duration
	c := &cobra.Command{
		Use:     "show --campaign ID",
		Short:   "Shows a campaign's spend, as of committed offsets",
		Example: "  weir spend show --campaign 1458 --day 2013-06-06 --wait -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req.MaxStalenessMs = stale.Milliseconds()
			ask := func(c *api.Client) (*weirpb.GetSpendResponse, error) { return c.GetSpend(cmd.Context(), req) }
			return answer(a, ask, render.SpendJSON, render.SpendTable)
		},
	}
	c.Flags().StringVar(&req.Campaign, "campaign", "", "campaign id")
	c.Flags().StringVar(&req.Account, "account", "", "account id (default: the only one that has the campaign)")
	c.Flags().StringVar(&req.Day, "day", "", "budget day, YYYY-MM-DD (default: all days)")
	c.Flags().StringVar(&req.Currency, "currency", "", "currency (default: the only one)")
	c.Flags().BoolVar(&req.Wait, "wait", false, "answer once everything produced before this call is folded")
	c.Flags().DurationVar(&stale, "max-staleness", 0, "how old the state of a standby may be that answers if the owner does not (default: only owners)")
	must(c.MarkFlagRequired("campaign"))
	return c
}

func newSpendHealthCmd(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "health",
		Short: "Shows the newest SpendHistogram of each shard",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ask := func(c *api.Client) (*weirpb.ListHealthResponse, error) { return c.ListHealth(cmd.Context()) }
			return answer(a, ask, render.HealthJSON, render.HealthTable)
		},
	}
}

// apiClient is how to ask the server.
func apiClient(a *app) (*api.Client, error) {
	c, err := a.loadConfig()
	if err != nil {
		return nil, err
	}
	x, err := accessOf(c)
	if err != nil {
		return nil, nodeFailure(err)
	}
	server, err := a.serverAddr(c)
	if err != nil {
		return nil, err
	}
	return x.client(server), nil
}

// answer asks the server and prints what package render makes of it, in the format of -o.
func answer[R any](a *app, ask func(*api.Client) (R, error), doc func(R) ([]byte, error), table func(R) string) error {
	client, err := apiClient(a)
	if err != nil {
		return err
	}
	defer client.Close()
	res, err := ask(client)
	if err != nil {
		return err
	}
	return a.print(func(w io.Writer) error {
		if !a.structured() {
			_, err := fmt.Fprintln(w, strings.TrimRight(table(res), "\n"))
			return err
		}
		b, err := doc(res)
		if err != nil {
			return err
		}
		if a.format != formatYAML {
			_, err = fmt.Fprintf(w, "%s\n", strings.TrimSpace(string(b)))
			return err
		}
		var node yaml.Node
		if err := yaml.Unmarshal(b, &node); err != nil {
			return err
		}
		restyle(&node)
		return yaml.NewEncoder(w).Encode(&node)
	})
}

// must is for errors that only a mistake in this package can cause.
func must(err error) {
	if err != nil {
		panic(err) //nolint:forbidigo // a flag that does not exist: every test of the command finds it
	}
}
