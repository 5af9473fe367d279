package spend

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"

	"connectrpc.com/connect"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"google.golang.org/protobuf/proto"

	"github.com/weirhq/weir/api"
	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/processors/kafka"
)

func newAdjustCmd(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "adjust",
		Short: "Refund spend: refunds, credits, and corrections for invalid traffic",
		Long: "Refund spend: refunds, credits, and corrections for invalid traffic.\n\n" +
			"An adjustment lowers the spend of a campaign on a budget day. Its reference is unique in the\n" +
			"account and is applied once for ever: an adjustment that is sent again changes nothing. A refund\n" +
			"above the charges of its campaign day is applied, and flagged.",
	}
	c.AddCommand(newAdjustCreateCmd(a), newAdjustImportCmd(a), newAdjustListCmd(a))
	return c
}

// adjustFlags adds the flags of a reader of adjustments.
func adjustFlags(f *pflag.FlagSet, opt *ingest.AdjustmentOptions, of string) {
	f.StringVar(&opt.Account, "account", "", "account"+of)
	f.StringVar(&opt.Currency, "currency", "", "currency"+of+", such as USD")
	f.StringVar(&opt.ServingDC, "serving-dc", "", "datacentre that served the ads"+of)
	f.StringVar(&opt.Reason, "reason", "refund", "reason"+of+": "+strings.Join(ingest.AdjustmentReasons(), ", "))
	cli.Enum(f, "reason", ingest.AdjustmentReasons()...)
}

// newAdjustCreateCmd makes a row of its flags and reads the row as `weir adjust import` does, so
// that both have the same checks.
func newAdjustCreateCmd(a *cli.App) *cobra.Command {
	opt := ingest.AdjustmentOptions{}
	var reference, campaign, day, amount string
	c := &cobra.Command{
		Use:     "create --reference ID",
		Short:   "Refund an amount of a campaign's spend on a budget day",
		Example: "  weir adjust create --reference ticket-8731 --account acme --campaign spring --day 2026-11-01 --amount 12.50 --currency USD --serving-dc eu",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			day, err := dayFlag("--day", day)
			if err != nil {
				return err
			}
			adj, err := adjustmentOf(opt, []string{reference, campaign, day, amount})
			if err != nil {
				return err
			}
			return createAdjustment(cmd.Context(), a, cmd.Flags().Changed("brokers"), adj)
		},
	}
	f := c.Flags()
	f.StringVar(&reference, "reference", "", "reference id: unique in the account, applied once for ever")
	f.StringVar(&campaign, "campaign", "", "campaign id")
	f.StringVar(&day, "day", "", "budget day of the spend: "+dayHelp)
	f.StringVar(&amount, "amount", "", "amount to refund, in --amount-unit")
	f.StringVar(&opt.Unit, "amount-unit", "major", "unit of the amount: "+ingest.AdjustmentUnits())
	adjustFlags(f, &opt, "")
	for _, name := range []string{"reference", "campaign", "day", "amount", "account", "currency", "serving-dc"} {
		cli.Must(c.MarkFlagRequired(name))
	}
	return c
}

// adjustmentOf reads one row: reference, campaign, day and amount.
func adjustmentOf(opt ingest.AdjustmentOptions, row []string) (*eventspb.Adjustment, error) {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	if err := errors.Join(w.Write([]string{"reference_id", "campaign", "budget_day", "amount"}), w.Write(row)); err != nil {
		return nil, err
	}
	w.Flush()
	const help = "`weir adjust create --help` shows the flags"
	r, err := ingest.NewAdjustmentReader(&text, opt)
	if err != nil {
		return nil, cli.UsageError(usageText(err), help)
	}
	got, err := r.Next()
	if err != nil {
		return nil, cli.UsageError(usageText(err), help)
	}
	if got.Err != nil {
		return nil, cli.UsageError(usageText(got.Err), help)
	}
	return got.Adjustment, nil
}

func createAdjustment(ctx context.Context, a *cli.App, named bool, adj *eventspb.Adjustment) error {
	to, err := importTarget(ctx, a, named, events.AdjustmentsTopic)
	if to.server != nil {
		defer to.server.Close()
	}
	if err != nil {
		return err
	}
	if to.server != nil {
		if err := showApplied(ctx, a, to.server, adj); err != nil {
			return err
		}
	}
	sink, err := kafka.NewProducer(to.Kafka, to.Name)
	if err != nil {
		return cli.Fail(0, "cannot produce", err, "")
	}
	defer sink.Close()
	if err := produceAdjustment(ctx, sink, to.Shards, adj); err != nil {
		return cli.Fail(0, "the adjustment may not have arrived", err, "run the same command again: a reference is applied once")
	}
	return a.Print(func(w io.Writer) error {
		_, err := fmt.Fprintln(w, "produced:", cli.Printable(adjustmentText(adj)))
		return err
	})
}

// showApplied notes that the reference was applied before. A server that cannot answer changes
// nothing: the counter decides.
func showApplied(ctx context.Context, a *cli.App, server *api.Client, adj *eventspb.Adjustment) error {
	key := adj.Account + "\x00" + adj.ReferenceId
	_, err := server.GetState(ctx, &weirpb.GetStateRequest{Table: "references", Key: []byte(key)})
	switch {
	case err == nil:
		a.Notef(
			"reference %q of account %q was applied before: this adjustment will count as a duplicate. `weir adjust list --account %s` shows it",
			adj.ReferenceId, adj.Account, adj.Account)
	case connect.CodeOf(err) == connect.CodeCanceled:
		return err
	}
	return nil
}

// adjustmentText shows what an adjustment means, so that a wrong unit or day is seen.
func adjustmentText(adj *eventspb.Adjustment) string {
	return fmt.Sprintf("%s %q of %s to account %q for campaign %q on %s, served by %s",
		strings.ReplaceAll(adj.Reason, "_", " "), adj.ReferenceId, amount(adj.Micros, adj.Currency), adj.Account, adj.Campaign,
		events.Day(adj.BudgetDay), adj.ServingDc)
}

func produceAdjustment(ctx context.Context, sink *kafka.Producer, shards int32, adj *eventspb.Adjustment) error {
	value, err := proto.Marshal(adj)
	if err != nil {
		return err
	}
	if err := sink.Produce(ctx, events.Shard(adj.Account, shards), []byte(adj.Account), value); err != nil {
		return err
	}
	return sink.Flush(ctx)
}
