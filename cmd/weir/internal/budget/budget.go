// Package budget has the commands about the budgets of accounts: weir budget set, get, list and
// import.
package budget

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/pacing/budget"
)

// Commands returns `weir budget`.
func Commands(a *cli.App) []*cobra.Command {
	c := &cobra.Command{
		Use:   "budget",
		Short: "Set and show what the campaigns of an account may spend",
		Long: "Set and show what the campaigns of an account may spend.\n\n" +
			"A document has all budgets of an account, and a version. A greater version replaces the document\n" +
			"as a whole; an older one is refused. docs/pacing.md describes the document.",
	}
	c.AddCommand(newSetCmd(a), newGetCmd(a), newListCmd(a), newImportCmd(a))
	return []*cobra.Command{c}
}

// resultRow is what became of a document.
type resultRow struct {
	Account  string `json:"account"`
	Version  uint64 `json:"version"`
	Replaced uint64 `json:"replaced_version"`
	Result   string `json:"result"` // set, unchanged, to be set
}

// resultRows returns the rows of an answer. With check nothing was written.
func resultRows(res *weirpb.SetBudgetsResponse, check bool) (rows []resultRow) {
	for _, r := range res.GetResults() {
		row := resultRow{r.GetAccount(), r.GetVersion(), r.GetReplacedVersion(), "set"}
		switch {
		case r.GetUnchanged():
			row.Result = "unchanged"
		case check:
			row.Result = "to be set"
		}
		rows = append(rows, row)
	}
	return rows
}

// structOf returns a document as a request has it.
func structOf(d *budget.Document) (*structpb.Struct, error) {
	m := &structpb.Struct{}
	return m, protojson.Unmarshal(d.Encode(), m)
}

// documentOf returns the document of an answer.
func documentOf(m *structpb.Struct) (*budget.Document, error) {
	text, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	return budget.Decode(text)
}

// versionRow is a version of the budgets of an account.
type versionRow struct {
	Account       string `json:"account"`
	Version       uint64 `json:"version"`
	State         string `json:"state"`
	EffectiveFrom string `json:"effective_from"` // empty: at once
	TimeZone      string `json:"time_zone"`
	Currency      string `json:"currency"`
	Campaigns     int32  `json:"campaigns"`
	Shared        int32  `json:"shared"`
}

func versionRows(list []*weirpb.BudgetVersion) (rows []versionRow) {
	for _, v := range list {
		row := versionRow{
			Account: v.GetAccount(), Version: v.GetVersion(), State: v.GetState(), TimeZone: v.GetTimeZone(), Currency: v.GetCurrency(),
			Campaigns: v.GetCampaigns(), Shared: v.GetShared(),
		}
		if ms := v.GetEffectiveFromMs(); ms != 0 {
			row.EffectiveFrom = time.UnixMilli(ms).UTC().Format(time.RFC3339)
		}
		rows = append(rows, row)
	}
	return rows
}

func newListCmd(a *cli.App) *cobra.Command {
	limit, page := 0, ""
	var stale time.Duration
	c := &cobra.Command{
		Use:   "list",
		Short: "List the versions of the budgets of all accounts",
		Long: "List the versions of the budgets of all accounts.\n\n" +
			"in_force: the version that holds now. scheduled: it holds later. replaced: it is not kept long.",
		Example: "  weir budget list --limit 1000 -o csv",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return cli.UsageError("--limit is not a positive number", "use 1 or more")
			}
			ms, err := connect.StalenessMs(stale)
			if err != nil {
				return err
			}
			return list(cmd.Context(), a, &weirpb.ListBudgetsRequest{PageToken: page, MaxStalenessMs: ms}, limit)
		},
	}
	f := c.Flags()
	f.IntVar(&limit, "limit", 100, "maximum number of versions")
	f.StringVar(&page, "page", "", "token of the previous page, to continue after it")
	f.DurationVar(&stale, "max-staleness", 0, connect.MaxStalenessHelp)
	return c
}

// list prints limit versions, and notes the token of the next page.
func list(ctx context.Context, a *cli.App, req *weirpb.ListBudgetsRequest, limit int) error {
	var all []*weirpb.BudgetVersion
	err := connect.WithAPI(a, func(client *api.Client) error {
		for {
			req.Limit = int32(min(limit-len(all), api.MaxBudgetVersions))
			res, err := client.ListBudgets(ctx, req)
			if err != nil {
				return err
			}
			all, req.PageToken = append(all, res.GetVersions()...), res.GetNextPageToken()
			if len(all) >= limit || req.PageToken == "" {
				return nil
			}
		}
	})
	if err != nil {
		return err
	}
	if err := cli.PrintRows(a, versionRows(all)); err != nil {
		return err
	}
	if req.PageToken != "" {
		a.Notef("there are more versions: add --page %s", req.PageToken)
	}
	return nil
}
