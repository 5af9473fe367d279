package budget

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/pacing/budget"
)

func newGetCmd(a *cli.App) *cobra.Command {
	version := uint64(0)
	var stale time.Duration
	c := &cobra.Command{
		Use:   "get ACCOUNT",
		Short: "Show the budgets of an account that are in force, and its other versions",
		Long: "Show the budgets of an account that are in force, and its other versions.\n\n" +
			"-o json prints the document, which `weir budget set --file` reads. If no version is in force yet,\n" +
			"the first one that will be is shown.",
		Example: "  weir budget get acme\n" +
			"  weir budget get acme -o json > acme.json",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ms, err := connect.StalenessMs(stale)
			if err != nil {
				return err
			}
			return connect.WithAPI(a, func(client *api.Client) error {
				res, err := client.GetBudgets(cmd.Context(), &weirpb.GetBudgetsRequest{Account: args[0], MaxStalenessMs: ms})
				if err != nil {
					return err
				}
				return show(a, res.GetVersions(), version)
			})
		},
	}
	f := c.Flags()
	f.Uint64Var(&version, "version", 0, "show this version (default: the one in force)")
	f.DurationVar(&stale, "max-staleness", 0, connect.MaxStalenessHelp)
	return c
}

// show prints a version, 0 for the one in force, and notes the others.
func show(a *cli.App, list []*weirpb.BudgetVersion, version uint64) error {
	at := slices.IndexFunc(list, func(v *weirpb.BudgetVersion) bool {
		return v.GetVersion() == version || version == 0 && v.GetState() == "in_force"
	})
	if at < 0 && version == 0 {
		at = 0
	}
	if at < 0 {
		return &cli.Failure{
			Code: cli.ExitFailed, What: "not found", Why: fmt.Sprintf("the account has no version %d", version),
			Do: "leave --version out; a replaced version is kept for two days at most",
		}
	}
	d, err := documentOf(list[at].GetDocument())
	if err != nil {
		return cli.Fail(cli.ExitSoftware, "the answer cannot be read", err, "client and server should have the same version")
	}
	for _, row := range versionRows(list) {
		effective := ""
		if row.EffectiveFrom != "" {
			effective = " from " + row.EffectiveFrom + " on"
		}
		a.Notef("version %d is %s%s", row.Version, strings.ReplaceAll(row.State, "_", " "), effective)
	}
	if a.Format == cli.FormatCSV || a.Format == cli.FormatJSONL || !a.Structured() {
		return cli.PrintRows(a, campaignRows(d))
	}
	return a.Print(func(w io.Writer) error {
		if a.Format == cli.FormatYAML {
			return cli.WriteYAML(w, d.Encode())
		}
		_, err := fmt.Fprintf(w, "%s\n", d.Encode())
		return err
	})
}

// campaignRow is a budget of a campaign, or a shared one.
type campaignRow struct {
	Campaign   string `json:"campaign"`
	Shared     string `json:"shared_budget"` // its own id; of a campaign, the one above it
	Kind       string `json:"kind"`
	Amount     string `json:"amount"`
	Currency   string `json:"currency"`
	Cap        string `json:"cap"`
	Flights    string `json:"flights"`
	Arms       string `json:"arms"`
	Controller string `json:"controller"` // empty: the default, ratio, or it has no amount
}

func campaignRows(d *budget.Document) (rows []campaignRow) {
	row := func(campaign, shared string, l *budget.Limit) campaignRow {
		r := campaignRow{Campaign: campaign, Shared: shared, Kind: l.Kind.String(), Controller: l.Controller}
		if l.Kind != budget.None {
			r.Amount, r.Currency = budget.FormatAmount(l.Micros), d.Currency
		}
		if l.Kind == budget.AverageDaily {
			r.Cap = budget.FormatPPM(int64(l.CapPPM))
		}
		var flights []string
		for _, f := range l.Flights {
			text := f.Begin.String() + ".."
			if f.End != budget.NoEnd {
				text += f.End.String()
			}
			flights = append(flights, text)
		}
		r.Flights = strings.Join(flights, " ")
		return r
	}
	for i := range d.Shared {
		rows = append(rows, row("", d.Shared[i].ID, &d.Shared[i].Limit))
	}
	for i := range d.Campaigns {
		c := &d.Campaigns[i]
		r := row(c.ID, c.Shared, &c.Limit)
		var arms []string
		for _, arm := range c.Arms {
			arms = append(arms, arm.ID+"="+budget.FormatPPM(int64(arm.PPM)))
		}
		r.Arms = strings.Join(arms, " ")
		rows = append(rows, r)
	}
	return rows
}
