package pacing

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

func newOverrideCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "override", Short: "Stop a campaign, let a process lead a shard, or use the parameters of another datacentre, for a time",
	}
	c.AddCommand(newOverrideCampaignCmd(a), newOverrideShardCmd(a), newOverrideWriterCmd(a), newOverrideListCmd(a))
	return c
}

// overriding is a run of `weir pacing override shard`.
type overriding struct {
	overrideFlags
	a   *cli.App
	req weirpb.OverrideLeaderRequest
}

// obeyWait is how long the command waits until the process leads the shard.
const obeyWait = 10 * time.Second

func newOverrideShardCmd(a *cli.App) *cobra.Command {
	r := overriding{a: a}
	c := &cobra.Command{
		Use:   "shard SHARD",
		Short: "Let a process lead a shard of the accounts for a time",
		Long: "Let a process pace the accounts of a shard, for at most a day. The shard moves as in a planned\n" +
			"restart: its leader hands it over. The override is refused if no process of the name paces\n" +
			"accounts. If that process goes away, another one leads the shard, until it is back. The override\n" +
			"ends by itself, and --withdraw ends it before. Another override of the shard replaces it.\n\n" +
			"The command waits for some seconds until the process leads the shard, and reports if it does not.\n" +
			"`weir pacing status` has the leaders and the overrides.",
		Example: "  weir pacing override shard 7 --leader b --for 10m --why \"the disk of a is slow\"\n" +
			"  weir pacing override shard 7 --withdraw",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			shard, err := strconv.ParseInt(args[0], 10, 32)
			if err != nil {
				return cli.UsageError(fmt.Sprintf("%q is not the number of a shard", args[0]), "`weir pacing status` lists the shards")
			}
			r.req.Shard = int32(shard)
			if err := r.check(cmd.Flags().Changed("for")); err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	f := c.Flags()
	f.StringVar(&r.req.Leader, "leader", "", "name of the process (instance in its configuration)")
	r.add(f, "the shard")
	return c
}

// check checks the flags.
func (r *overriding) check(hasFor bool) error {
	switch {
	case r.withdraw && (r.req.Leader != "" || hasFor):
		return cli.UsageError("--withdraw ends an override, and --leader and --for give one", "leave out --withdraw, or the others")
	case r.withdraw:
	case r.req.Leader == "" || !hasFor:
		return cli.UsageError("an override needs a leader and a time",
			"add --leader PROCESS --for 10m, or --withdraw to end the override of the shard")
	default:
		if err := r.checkTime(); err != nil {
			return err
		}
	}
	r.req.DurationMs, r.req.Who, r.req.Why = r.lasts.Milliseconds(), cli.UserName(), r.why
	return nil
}

func (r *overriding) run(ctx context.Context) error {
	client, err := connect.APIClient(r.a)
	if err != nil {
		return err
	}
	defer client.Close()
	res, err := client.OverrideLeader(ctx, &r.req)
	if err != nil {
		return err
	}
	list := &weirpb.ListOverridesResponse{Leaders: []*weirpb.LeaderOverride{res.GetOverride()}}
	if err := cli.PrintRows(r.a, render.OverrideRows(list)); err != nil || r.withdraw {
		return err
	}
	return r.await(ctx, client)
}

// await waits until the process leads the shard.
func (r *overriding) await(ctx context.Context, client *api.Client) error {
	owner := ""
	obeyed := await(ctx, obeyWait, func(ctx context.Context) bool {
		// While the shard moves, it cannot be read.
		res, err := client.GetPacingStatus(ctx, &weirpb.GetPacingStatusRequest{Partition: &r.req.Shard})
		if err == nil && len(res.GetShards()) == 1 {
			owner = res.GetShards()[0].GetAsOf().GetServedBy().GetInstance()
		}
		return owner == r.req.GetLeader()
	})
	switch {
	case obeyed:
		r.a.Notef("%s leads shard %d", owner, r.req.GetShard())
	case ctx.Err() == nil:
		r.a.Notef("the override is written, and after %s the leader of shard %d is %q: %s may catch up with it, or have gone away; "+
			"`weir pacing status` shows the leaders", obeyWait, r.req.GetShard(), owner, r.req.GetLeader())
	}
	return nil
}

func newOverrideListCmd(a *cli.App) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the overrides that are in force",
		Example: "  weir pacing override list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			client, err := connect.APIClient(a)
			if err != nil {
				return err
			}
			defer client.Close()
			res, err := client.ListOverrides(cmd.Context(), &weirpb.ListOverridesRequest{})
			if err != nil {
				return err
			}
			return cli.PrintRows(a, render.OverrideRows(res))
		},
	}
}
