package state

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/processors/offline"
	"github.com/weirhq/weir/spendcounter"
)

// replay is a run of `weir replay`.
type replay struct {
	a       *cli.App
	name    string
	from    string
	against string
	account string
	trimmed bool
	promote bool
	drop    bool
	yes     bool

	counter    spendcounter.ProcessorConfig
	shadow     *offline.Replay
	savepoints *offline.Savepoints
}

// comparisonRow compares a table of a partition in the live state and in the replay.
type comparisonRow struct {
	Partition  int32  `json:"partition"`
	Table      int    `json:"table"`
	Equal      bool   `json:"equal"`
	LiveKeys   int64  `json:"live_keys"`
	ReplayKeys int64  `json:"replay_keys"`
	LiveHash   string `json:"live_hash" table:"wide"`
	ReplayHash string `json:"replay_hash" table:"wide"`
}

// correctionRow counts the changes of a promotion in a table of a partition.
type correctionRow struct {
	Partition int32 `json:"partition"`
	Table     int   `json:"table"`
	Put       int64 `json:"put"`
	Deleted   int64 `json:"deleted"`
}

func newReplayCmd(a *cli.App) *cobra.Command {
	r := &replay{a: a}
	c := &cobra.Command{
		Use:   "replay --app NAME",
		Short: "Count the inputs again, compare the result with the live state, and correct the live state",
		Long: "Count the inputs again under another application id, with its own topics, group and state. The live\n" +
			"counter may run and is not changed.\n\n" +
			"The replay runs up to a savepoint of the live state: a new one, or --against. Then it compares the\n" +
			"states by hash, and exits with code 1 if they differ. It covers the partitions of this data_dir;\n" +
			"if several processes share the partitions, run it for each data_dir.\n\n" +
			"--promote writes the difference between replay and live state to the live changelog, so that the\n" +
			"live state equals the replay. The live counter must be stopped. Without --yes the command only\n" +
			"shows the changes.",
		Example: "  weir replay --app check --from savepoint:monday\n" +
			"  weir replay --app fixed --from beginning\n" +
			"  weir replay --app fixed --promote --only-account acme --yes\n" +
			"  weir replay --app fixed --drop",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	f := c.Flags()
	f.StringVar(&r.name, "app", "", "application id of the replay, and the prefix of its topics")
	f.StringVar(&r.from, "from", "beginning", "start of the replay: beginning, savepoint:NAME, offset:N (of ads.events) or time:RFC3339")
	f.StringVar(&r.against, "against", "", "savepoint to compare with (default: a temporary one, created now)")
	f.BoolVar(&r.trimmed, "allow-trimmed", false, "replay even if retention or a repartition has removed the beginning of the inputs; the totals will differ")
	f.BoolVar(&r.promote, "promote", false, "correct the live state by the replay")
	f.StringVar(&r.account, "only-account", "", "with --promote: correct the spend of this account only")
	f.BoolVar(&r.yes, "yes", false, "with --promote: write the changes; without it they are only shown")
	f.BoolVar(&r.drop, "drop", false, "remove the replay: its topics, group and state")
	f.String("data-dir", "", "directory of the state (default: data_dir)")
	a.Bind(f, "data-dir", "data_dir")
	cli.Must(c.MarkFlagRequired("app"))
	c.MarkFlagsMutuallyExclusive("promote", "drop")
	return c
}

func (r *replay) run(ctx context.Context) error {
	start, err := parseStart(r.from)
	if err != nil {
		return err
	}
	start.AllowTrimmed = r.trimmed
	if !r.promote && (r.yes || r.account != "") {
		return cli.UsageError("--yes and --only-account need --promote", "add --promote")
	}
	if err := r.open(); err != nil {
		return err
	}
	switch {
	case r.drop:
		if err := r.shadow.Drop(ctx); err != nil {
			return replayFailure("cannot remove the replay", err)
		}
		r.a.Notef("replay %s is removed", r.name)
		return nil
	case r.promote:
		return r.correct(ctx)
	}
	return r.compare(ctx, start)
}

func (r *replay) open() error {
	cfg, k, err := connect.Cluster(r.a)
	if err != nil {
		return err
	}
	r.counter = node.OfflineSpendCounter(cfg)
	live, err := r.counter.Processor()
	if err != nil {
		return cli.Fail(cli.ExitConfig, "cannot set up the spend counter", err, "correct dc and peers")
	}
	if r.savepoints, err = offline.NewSavepoints(node.OfflineConfig(cfg, k), live); err == nil {
		r.shadow, err = offline.NewReplay(node.OfflineConfig(cfg, k), live, r.name)
	}
	return replayFailure("cannot set up the replay", err)
}

// parseStart parses --from.
func parseStart(from string) (s offline.ReplayStart, err error) {
	kind, value, _ := strings.Cut(from, ":")
	switch kind {
	case "beginning":
		if value == "" {
			return s, nil
		}
	case "savepoint":
		if s.Savepoint = value; value != "" {
			return s, nil
		}
	case "offset":
		if s.Offset, err = strconv.ParseInt(value, 10, 64); err == nil && s.Offset >= 0 {
			return s, nil
		}
	case "time":
		if s.Time, err = time.Parse(time.RFC3339, value); err == nil {
			return s, nil
		}
	}
	do := "write beginning, savepoint:NAME, offset:N or time:2026-01-31T00:00:00Z"
	if n, ok := config.Nearest(kind, []string{"beginning", "savepoint", "offset", "time"}); ok && n != kind {
		do = "did you mean " + n + "?"
	}
	return s, cli.UsageError(fmt.Sprintf("--from %q is not a position", from), do)
}

// compare runs the replay up to a savepoint and compares the states.
func (r *replay) compare(ctx context.Context, start offline.ReplayStart) error {
	sp, err := r.target(ctx) // first, because a failure leaves nothing to remove
	if err != nil {
		return err
	}
	start.Migrated = r.counter.Migrated()
	if err := r.shadow.Prepare(ctx, start); err != nil {
		return replayFailure("cannot start the replay", err)
	}
	report, done := r.progress()
	err = r.shadow.Run(ctx, sp.Positions(), report)
	done()
	if err != nil {
		return replayFailure("the replay is not complete", err)
	}
	list, err := r.shadow.Compare(ctx, sp)
	if err != nil {
		return replayFailure("cannot compare the states", err)
	}
	rows, differ := make([]comparisonRow, len(list)), 0
	for i, c := range list {
		rows[i] = comparisonRow{c.Partition, int(c.Table), c.Equal(), c.Live.Keys, c.Replay.Keys, c.Live.Hash.String(), c.Replay.Hash.String()}
		if !c.Equal() {
			differ++
		}
	}
	if err := cli.PrintRows(r.a, rows); err != nil {
		return err
	}
	if differ > 0 {
		return &cli.Failure{
			Code: cli.ExitFailed, What: "the replay and the live state differ",
			Why: fmt.Sprintf("%d of %d tables of partitions differ", differ, len(list)),
			Do:  fmt.Sprintf("if the replay is right, stop the live counter; then `weir replay --app %s --promote` shows the changes", r.name),
		}
	}
	r.a.Notef("all %d tables of %d partitions are equal; `weir replay --app %s --drop` removes the replay", len(list), len(sp.Partitions), r.name)
	return nil
}

// target returns the savepoint to compare with. A temporary savepoint is dropped at once, because
// the comparison needs its description only.
func (r *replay) target(ctx context.Context) (*offline.Savepoint, error) {
	if r.against != "" {
		sp, err := r.savepoints.Get(r.against)
		return sp, savepointFailure("cannot read the savepoint", err)
	}
	name := "replay-" + r.name + time.Now().UTC().Format("-20060102T150405.000")
	sp, err := createSavepoint(ctx, r.a, r.savepoints, name)
	if err != nil {
		return nil, err
	}
	return sp, savepointFailure("cannot drop the temporary savepoint", r.savepoints.Drop(name))
}

// correct promotes the replay; without --yes it only shows the changes.
func (r *replay) correct(ctx context.Context) error {
	report, done := r.progress()
	how := offline.Promotion{Commit: r.yes, Report: report, Rewrite: r.counter.Rewrite}
	if r.account != "" {
		how.Select = func(int32) offline.Selector { return spendcounter.NewAccountSelector(r.counter.DC, r.account) }
	}
	list, err := r.shadow.Promote(ctx, how)
	done()
	rows := make([]correctionRow, len(list))
	var put, deleted int64
	for i, c := range list {
		rows[i] = correctionRow{c.Partition, int(c.Table), c.Put, c.Deleted}
		put, deleted = put+c.Put, deleted+c.Deleted
	}
	if err != nil {
		if r.yes && len(list) > 0 {
			r.a.Notef("so far: %d keys written, %d deleted, in complete partitions", put, deleted)
		}
		return replayFailure("cannot promote the replay", err)
	}
	if err := cli.PrintRows(r.a, rows); err != nil {
		return err
	}
	switch {
	case len(list) == 0:
		r.a.Notef("the live state equals the replay: there is nothing to correct")
	case r.yes:
		r.a.Notef("%d keys written, %d deleted: the live counter continues with them when it starts", put, deleted)
	default:
		r.a.Notef("%d keys would be written, %d deleted: repeat the command with --yes", put, deleted)
	}
	return nil
}

// progress draws a progress bar. Without a terminal it draws nothing.
func (r *replay) progress() (report func(offline.ReplayProgress), done func()) {
	if !r.a.IsTerminal() {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(r.a.Stderr), progressbar.OptionSetDescription("replay "+r.name),
		progressbar.OptionThrottle(100_000_000), progressbar.OptionClearOnFinish(), progressbar.OptionEnableColorCodes(r.a.Color()))
	return func(p offline.ReplayProgress) {
		bar.ChangeMax64(max(p.Total, 1))
		_ = bar.Set64(p.Offsets)
	}, func() { _ = bar.Finish() }
}

func replayFailure(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, offline.ErrInUse):
		return cli.Fail(cli.ExitFailed, what, err, "stop the live counter in all processes, then try again")
	case errors.Is(err, offline.ErrTrimmed):
		return cli.Fail(cli.ExitFailed, what, err, "begin at a savepoint (`weir savepoint list`), or accept other totals with --allow-trimmed")
	case errors.Is(err, offline.ErrSavepoint):
		return savepointFailure(what, err)
	case errors.Is(err, offline.ErrReplay):
		return cli.Fail(cli.ExitFailed, what, err, "correct what the message names; `weir replay --help` describes the procedure")
	}
	return connect.RunFailure(err)
}
