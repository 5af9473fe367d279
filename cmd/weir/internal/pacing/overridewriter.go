package pacing

import (
	"context"

	rpc "connectrpc.com/connect"
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
)

// writerOverride is a run of `weir pacing override writer`.
type writerOverride struct {
	overrideFlags
	a   *cli.App
	req weirpb.OverrideWriterRequest
}

func newOverrideWriterCmd(a *cli.App) *cobra.Command {
	r := writerOverride{a: a}
	c := &cobra.Command{
		Use:   "writer [DATACENTRE]",
		Short: "Let ad servers have the parameters that another datacentre writes for a time",
		Long: "Let the ad servers of this datacentre have the parameters that another datacentre writes, for at\n" +
			"most a day, such as while the budgets or the spend of this one are wrong. The spend caches read\n" +
			"them there. It is this one or one of the next two of the ring. A shard that no process paces there\n" +
			"has the parameters of this one. With this datacentre, no other one takes its place.\n\n" +
			"Without an override, the next datacentre takes the place of this one while no process paces a shard\n" +
			"here. The override ends by itself, and --withdraw ends it before. Both need a process with the role\n" +
			"pacing in this datacentre.",
		Example: "  weir pacing override writer us --for 1h --why \"the budgets of eu are late\"\n" +
			"  weir pacing override writer --withdraw",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				r.req.Writer = args[0]
			}
			if err := r.check(cmd.Flags().Changed("for")); err != nil {
				return err
			}
			return r.run(cmd.Context())
		},
	}
	r.add(c.Flags(), "the writer")
	return c
}

// check checks the arguments and the flags.
func (r *writerOverride) check(hasFor bool) error {
	switch {
	case r.withdraw && (r.req.Writer != "" || hasFor):
		return cli.UsageError("--withdraw ends an override, and a datacentre and --for give one", "leave out --withdraw, or the others")
	case r.withdraw:
	case r.req.Writer == "" || !hasFor:
		return cli.UsageError("an override needs a datacentre and a time",
			"write `weir pacing override writer DATACENTRE --for 1h`, or --withdraw to end the override")
	default:
		if err := r.checkTime(); err != nil {
			return err
		}
	}
	r.req.DurationMs, r.req.Who, r.req.Why = r.lasts.Milliseconds(), cli.UserName(), r.why
	return nil
}

func (r *writerOverride) run(ctx context.Context) error {
	client, err := connect.APIClient(r.a)
	if err != nil {
		return err
	}
	defer client.Close()
	res, err := client.OverrideWriter(ctx, &r.req)
	if err != nil {
		return err
	}
	rows := render.OverrideRows(&weirpb.ListOverridesResponse{Writer: res.GetOverride()})
	if err := cli.PrintRows(r.a, rows); err != nil || r.withdraw {
		return err
	}
	r.await(ctx, client)
	return nil
}

// await waits until the spend cache of the process serves the parameters.
func (r *writerOverride) await(ctx context.Context, client *api.Client) {
	served, shards := 0, 0
	without := false // the process has no spend cache
	obeyed := await(ctx, followWait, func(ctx context.Context) bool {
		res, err := client.ListDatasets(ctx, &weirpb.ListDatasetsRequest{})
		if err != nil {
			without = rpc.CodeOf(err) == rpc.CodeFailedPrecondition
			return without
		}
		served, shards = 0, len(res.GetShards())
		for _, s := range res.GetShards() {
			if s.GetPacingDc() == r.req.GetWriter() {
				served++
			}
		}
		return shards > 0 && served == shards
	})
	switch {
	case without:
		r.a.Notef("the override is written; this process has no spend cache, which obeys it: " +
			"`weir spend datasets --shards -o wide` at a process with the role spendcache shows whose parameters it serves")
	case obeyed:
		r.a.Notef("this process gives the accounts of %d shards the parameters of %s", served, r.req.GetWriter())
	case ctx.Err() == nil:
		r.a.Notef("the override is written, and after %s this process gives the accounts of %d of %d shards the parameters of %s: "+
			"`weir spend datasets --shards -o wide` shows them",
			followWait, served, shards, r.req.GetWriter())
	}
}
