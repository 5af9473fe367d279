package budget

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	rpc "connectrpc.com/connect"
	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/pacing/budget"
	"github.com/weirhq/weir/pacing/control"
)

// change is the change of one campaign that flags describe.
type change struct {
	file, campaign, shared                    string
	daily, lifetime, average, cap, begin, end string
	controller, zone, currency, plan          string
	checkOnly                                 bool
}

func newSetCmd(a *cli.App) *cobra.Command {
	var x change
	c := &cobra.Command{
		Use:   "set ACCOUNT",
		Short: "Set the budgets of an account from a file, or the budget of one campaign",
		Long: "Set the budgets of an account from a file, or the budget of one campaign.\n\n" +
			"--file names a document, - is standard input. It replaces all budgets of the account. Without\n" +
			"--file, the flags change one campaign of the newest document, and the other campaigns keep their\n" +
			"budgets. An account without budgets needs --time-zone and --currency.\n\n" +
			"A document without a version gets the next one. A version that is not greater than that of the\n" +
			"account is refused. The command returns when the budgets are applied, and repeating it changes\n" +
			"nothing.",
		Example: "  weir budget set acme --campaign spring --daily 100 --time-zone Europe/Berlin --currency EUR\n" +
			"  weir budget set acme --campaign spring --average-daily 80 --cap 2.0 --begin 2026-12-01 --end 2026-12-24\n" +
			"  weir budget set acme --campaign spring --controller asap\n" +
			"  weir budget set acme --file acme.json --dry-run",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return set(cmd, a, x, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&x.file, "file", "", "file with a document; - reads standard input")
	f.StringVar(&x.campaign, "campaign", "", "campaign whose budget is set")
	f.StringVar(&x.daily, "daily", "", "at most this amount on each budget day, such as 12.50")
	f.StringVar(&x.lifetime, "lifetime", "", "at most this amount in all flights")
	f.StringVar(&x.average, "average-daily", "", "this amount a day, on average over a calendar month; needs --cap")
	f.StringVar(&x.cap, "cap", "", "most of a day, as a multiple of --average-daily, 1.0 to 2.0")
	f.StringVar(&x.shared, "shared", "", "shared budget above the campaign, which the account has")
	f.StringVar(&x.controller, "controller", "", "how it is paced: "+control.Names()+" (default: ratio)")
	f.StringVar(&x.begin, "begin", "", "first budget day of the flight, such as 2026-12-01")
	f.StringVar(&x.end, "end", "", "last budget day of the flight (default: no end)")
	f.StringVar(&x.zone, "time-zone", "", "time zone of the account's budget days, such as Europe/Berlin")
	f.StringVar(&x.currency, "currency", "", "currency of the account's budgets, such as EUR")
	f.StringVar(&x.plan, "plan", "", "plan of the account's days: learnt from earlier days, or even (default: learnt)")
	f.BoolVar(&x.checkOnly, "dry-run", false, "check the budgets, and write nothing")
	c.MarkFlagsOneRequired("file", "campaign")
	for _, name := range []string{
		"campaign", "daily", "lifetime", "average-daily", "cap", "shared", "controller", "begin", "end", "time-zone", "currency",
		"plan",
	} {
		c.MarkFlagsMutuallyExclusive("file", name)
	}
	return c
}

func set(cmd *cobra.Command, a *cli.App, x change, account string) error {
	if x.file != "" {
		d, err := x.read(a, account)
		if err != nil {
			return err
		}
		return connect.WithAPI(a, func(client *api.Client) error {
			if err := follow(cmd.Context(), client, d); err != nil {
				return err
			}
			return x.send(cmd.Context(), a, client, d)
		})
	}
	return connect.WithAPI(a, func(client *api.Client) error {
		before, err := changeable(cmd.Context(), client, account)
		if err != nil {
			return err
		}
		d, err := x.apply(before, account)
		if err != nil {
			return err
		}
		return x.send(cmd.Context(), a, client, d)
	})
}

// read returns the document of the file.
func (x *change) read(a *cli.App, account string) (*budget.Document, error) {
	in := a.Stdin
	if x.file != "-" {
		f, err := os.Open(x.file)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }()
		in = f
	}
	const most = 16 << 20
	text, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return nil, err
	}
	d, err := budget.Decode(text)
	if err != nil {
		return nil, refused("the document is not valid", err)
	}
	if d.Account != account {
		return nil, cli.UsageError("the document is of account "+d.Account+", and the command of "+account, "correct one of them")
	}
	return d, nil
}

// follow gives an edit of the newest document the next version: the file has the version that it
// was made from.
func follow(ctx context.Context, client *api.Client, d *budget.Document) error {
	if d.Version == 0 {
		return nil
	}
	last, err := newest(ctx, client, d.Account)
	if err != nil || last.GetVersion() != d.Version { // the server refuses a smaller one
		return err
	}
	before, err := documentOf(last.GetDocument())
	if err == nil && !budget.SameContent(before, d) {
		d.Version++
	}
	return err
}

func refused(what string, err error) error {
	return &cli.Failure{
		Code: cli.ExitData, What: what, Why: strings.ReplaceAll(err.Error(), "; ", "\n"),
		Do: "correct the fields that are named; nothing was written",
	}
}

// newest returns the newest version of the budgets of an account, and nil before the first.
func newest(ctx context.Context, client *api.Client, account string) (*weirpb.BudgetVersion, error) {
	res, err := client.GetBudgets(ctx, &weirpb.GetBudgetsRequest{Account: account})
	if rpc.CodeOf(err) == rpc.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return res.GetVersions()[len(res.GetVersions())-1], nil
}

// changeable returns the document that flags change: the newest one of an account, and nil before
// the first.
func changeable(ctx context.Context, client *api.Client, account string) (*budget.Document, error) {
	last, err := newest(ctx, client, account)
	if err != nil || last == nil {
		return nil, err
	}
	if last.GetState() == "scheduled" { // the flags would change it, and let it hold at once
		return nil, &cli.Failure{
			Code: cli.ExitFailed, What: "the budget was not set",
			Why: fmt.Sprintf("version %d of account %s holds later, and the flags change what holds now", last.GetVersion(), account),
			Do:  "write a document with both changes, and set it with --file; `weir budget get -o json` prints one to begin with",
		}
	}
	return documentOf(last.GetDocument())
}

// apply returns the document with the change. It is made as JSON, so that the flags have the checks
// of a file.
func (x *change) apply(before *budget.Document, account string) (*budget.Document, error) {
	version := uint64(1)
	doc := map[string]any{"account": account}
	var campaigns []any
	if before != nil {
		version = before.Version + 1
		if err := json.Unmarshal(before.Encode(), &doc); err != nil {
			return nil, err
		}
		campaigns, _ = doc["campaigns"].([]any)
	}
	for name, text := range map[string]string{"time_zone": x.zone, "currency": x.currency, "plan": x.plan} {
		if text != "" {
			doc[name] = text
		}
	}
	delete(doc, "effective_from") // the change holds at once
	row := map[string]any{"campaign": x.campaign}
	at := slices.IndexFunc(campaigns, func(c any) bool { m, ok := c.(map[string]any); return ok && m["campaign"] == x.campaign })
	if at < 0 {
		campaigns = append(campaigns, row)
	} else if old, ok := campaigns[at].(map[string]any); ok {
		row = old
	}
	x.change(row)
	doc["campaigns"], doc["version"] = campaigns, version
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	d, err := budget.Decode(text)
	if err != nil {
		return nil, refused("the budgets would not be valid", err)
	}
	if before != nil && budget.SameContent(d, before) {
		d.Version = before.Version
	}
	return d, nil
}

// change makes the changes of the flags in a campaign. What no flag names stays. An amount replaces
// that of another kind, with its cap.
func (x *change) change(row map[string]any) {
	if x.daily+x.lifetime+x.average != "" {
		for _, name := range []string{"daily", "lifetime", "average_daily", "cap"} {
			delete(row, name)
		}
	}
	for name, text := range map[string]string{
		"daily": x.daily, "lifetime": x.lifetime, "average_daily": x.average, "cap": x.cap, "shared": x.shared,
		"controller": x.controller,
	} {
		if text != "" {
			row[name] = text
		}
	}
	if x.begin != "" || x.end != "" {
		flight := map[string]any{"begin": x.begin}
		if x.end != "" {
			flight["end"] = x.end
		}
		row["flights"] = []any{flight}
	}
}

// send sends a document and prints what became of it.
func (x *change) send(ctx context.Context, a *cli.App, client *api.Client, d *budget.Document) error {
	m, err := structOf(d)
	if err != nil {
		return err
	}
	res, err := client.SetBudgets(ctx, &weirpb.SetBudgetsRequest{Documents: []*structpb.Struct{m}, CheckOnly: x.checkOnly})
	if err != nil {
		return conflict(err)
	}
	return cli.PrintRows(a, resultRows(res, x.checkOnly))
}

// conflict explains a version that is not the next one.
func conflict(err error) error {
	if rpc.CodeOf(err) != rpc.CodeAborted {
		return err
	}
	return cli.Fail(cli.ExitFailed, "the version of the budgets is not greater", err,
		"`weir budget get` shows the budgets; leave the version out to replace whatever is there")
}
