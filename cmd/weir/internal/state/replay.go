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

// replay is what the command line says.
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

	role       spendcounter.ProcessorConfig
	shadow     *offline.Replay
	savepoints *offline.Savepoints
}

// comparisonRow is a table of a partition, live and replayed.
type comparisonRow struct {
	Partition  int32  `json:"partition"`
	Table      int    `json:"table"`
	Equal      bool   `json:"equal"`
	LiveKeys   int64  `json:"live_keys"`
	ReplayKeys int64  `json:"replay_keys"`
	LiveHash   string `json:"live_hash" table:"wide"`
	ReplayHash string `json:"replay_hash" table:"wide"`
}

// correctionRow is what a promotion changes in a table of a partition.
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
		Short: "Counts again under another name, compares with the live state, and makes it the live state if told to",
		Long: "Counts again under another application id, with topics, a group and a state of its own. The live counter may run and is\n" +
			"not touched. It folds up to a savepoint of the live state, taken for that or given, and compares by hash: exit code 1 if\n" +
			"anything differs. It holds the data_dir's partitions only: with several processes run it for each of them.\n" +
			"--promote, with the live counter stopped, writes the difference to its changelog: what was counted wrong is replaced,\n" +
			"nothing is added twice. It shows what would change, unless --yes is given.",
		Example: "  weir replay --app check --from savepoint:monday\n" +
			"  weir replay --app fixed --from beginning\n" +
			"  weir replay --app fixed --promote --only-account acme --yes\n" +
			"  weir replay --app fixed --drop",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return r.run(cmd.Context()) },
	}
	f := c.Flags()
	f.StringVar(&r.name, "app", "", "application id of the replay, and the prefix of its topics")
	f.StringVar(&r.from, "from", "beginning", "where to begin: beginning, savepoint:NAME, offset:N (of ads.events), time:RFC3339")
	f.StringVar(&r.against, "against", "", "savepoint to compare with (default: one taken now, and dropped)")
	f.BoolVar(&r.trimmed, "allow-trimmed", false, "go on although the inputs do not have the beginning, by retention or because the state was moved here: the totals will differ")
	f.BoolVar(&r.promote, "promote", false, "make what was replayed the live state")
	f.StringVar(&r.account, "only-account", "", "with --promote: the spend of this account alone")
	f.BoolVar(&r.yes, "yes", false, "with --promote: do it")
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
		return cli.UsageError("--yes and --only-account belong to --promote", "add --promote")
	}
	if err := r.open(); err != nil {
		return err
	}
	switch {
	case r.drop:
		if err := r.shadow.Drop(ctx); err != nil {
			return replayFailure("cannot remove the replay", err)
		}
		r.a.Notef("replay %s is gone", r.name)
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
	r.role = node.SoleSpendRole(cfg)
	live, err := r.role.Processor()
	if err != nil {
		return cli.Fail(cli.ExitConfig, "cannot set up the spend counter", err, "correct dc and peers")
	}
	if r.savepoints, err = offline.NewSavepoints(node.OfflineConfig(cfg, k), live); err == nil {
		r.shadow, err = offline.NewReplay(node.OfflineConfig(cfg, k), live, r.name)
	}
	return replayFailure("cannot set up the replay", err)
}

// parseStart reads --from.
func parseStart(from string) (s offline.Start, err error) {
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
	return s, cli.UsageError(fmt.Sprintf("--from %q says not where to begin", from), do)
}

// compare lets the replay run up to a savepoint and holds it against that.
func (r *replay) compare(ctx context.Context, start offline.Start) error {
	sp, err := r.target(ctx) // first: without it nothing is made
	if err != nil {
		return err
	}
	if err := r.shadow.Prepare(ctx, start); err != nil {
		return replayFailure("cannot begin the replay", err)
	}
	report, done := r.progress()
	err = r.shadow.Run(ctx, sp.Positions(), report)
	done()
	if err != nil {
		return replayFailure("the replay did not come to its end", err)
	}
	list, err := r.shadow.Compare(ctx, sp)
	if err != nil {
		return replayFailure("cannot compare", err)
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
			Code: cli.ExitFailed, What: "the replay and the live state differ", Why: fmt.Sprintf("in %d of %d tables of partitions", differ, len(list)),
			Do: fmt.Sprintf("if the replay is right: stop the live counter, then `weir replay --app %s --promote` shows what would change", r.name),
		}
	}
	r.a.Notef("equal in all %d tables of %d partitions; `weir replay --app %s --drop` removes the replay", len(list), len(sp.Partitions), r.name)
	return nil
}

// target is the savepoint to compare with. One that is taken for that goes at once: its description is all that is needed.
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
	return sp, savepointFailure("cannot drop the savepoint again", r.savepoints.Drop(name))
}

// correct promotes, or says what a promotion would do.
func (r *replay) correct(ctx context.Context) error {
	report, done := r.progress()
	how := offline.Promotion{Commit: r.yes, Report: report}
	if r.account != "" {
		how.Select = func(int32) offline.Selector { return spendcounter.NewAccountSelector(r.role.DC, r.account) }
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
			r.a.Notef("done so far: %d keys put, %d deleted, in whole partitions", put, deleted)
		}
		return replayFailure("cannot promote the replay", err)
	}
	if err := cli.PrintRows(r.a, rows); err != nil {
		return err
	}
	switch {
	case len(list) == 0:
		r.a.Notef("the live state is as the replay: there is nothing to change")
	case r.yes:
		r.a.Notef("%d keys put, %d deleted: the live counter goes on from there when it starts", put, deleted)
	default:
		r.a.Notef("%d keys would be put, %d deleted; --yes does it", put, deleted)
	}
	return nil
}

// progress shows how far the replay is, on a terminal only.
func (r *replay) progress() (report func(offline.Progress), done func()) {
	if !r.a.IsTerminal() {
		return nil, func() {}
	}
	bar := progressbar.NewOptions64(-1, progressbar.OptionSetWriter(r.a.Stderr), progressbar.OptionSetDescription("replay "+r.name),
		progressbar.OptionThrottle(100_000_000), progressbar.OptionClearOnFinish(), progressbar.OptionEnableColorCodes(r.a.Color()))
	return func(p offline.Progress) {
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
		return cli.Fail(cli.ExitFailed, what, err, "`weir savepoint list` shows what to begin from; --allow-trimmed goes on all the same")
	case errors.Is(err, offline.ErrSavepoint):
		return savepointFailure(what, err)
	case errors.Is(err, offline.ErrReplay):
		return cli.Fail(cli.ExitFailed, what, err, "see above; `weir replay --help` shows the ways")
	}
	return connect.RunFailure(err)
}
