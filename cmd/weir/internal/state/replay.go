package state

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/cmd/weir/internal/connect"
	"github.com/weirhq/weir/cmd/weir/internal/node"
	"github.com/weirhq/weir/internal/config"
	"github.com/weirhq/weir/internal/pause"
	"github.com/weirhq/weir/processors/offline"
	"github.com/weirhq/weir/stream"
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

	of         string
	live       node.App
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
	f.StringVar(&r.of, "of", "", "application to count again (default: the spend counter)")
	f.StringVar(&r.from, "from", "beginning", "start of the replay: beginning, savepoint:NAME, offset:N (of ads.events) or time:RFC3339")
	f.StringVar(&r.against, "against", "", "savepoint to compare with (default: a temporary one, created now)")
	f.BoolVar(&r.trimmed, "allow-trimmed", false,
		"replay even if retention or a repartition has removed the beginning of the inputs; the totals will differ")
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
		return cli.UsageError("--yes and --only-account need --promote", "add --promote, or leave the two flags out")
	}
	if !legalApp(r.name) {
		return cli.UsageError(fmt.Sprintf("--app %q is not a legal name of a replay", r.name),
			"write 1 to 200 letters, digits, '.', '_' or '-'")
	}
	if err := r.open(ctx); err != nil {
		return err
	}
	switch {
	case r.drop:
		there, err := r.shadow.Drop(ctx)
		if err != nil {
			return replayFailure("cannot remove the replay", err)
		}
		if !there {
			return r.unknown()
		}
		r.a.Notef("replay %s is removed", r.name)
		return nil
	case r.promote:
		return r.correct(ctx)
	}
	return r.compare(ctx, start)
}

// legalApp reports whether name can be an application id: the topics of the replay begin with it.
func legalApp(name string) bool {
	illegal := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	}
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, illegal)
}

func (r *replay) open(ctx context.Context) error {
	cfg, k, err := connect.OwnCluster(r.a)
	if err != nil {
		return err
	}
	if r.live, err = connect.App(cfg, "--of", r.of); err != nil {
		return err
	}
	if r.live.Replay == nil {
		return cli.UsageError(fmt.Sprintf("--of %s: this application cannot be replayed", r.live.Name),
			"its decisions depend on the time of day or on another system, so that a second run would differ; `weir state hash --app` compares processes")
	}
	if r.savepoints, err = offline.NewSavepoints(node.OfflineConfig(cfg, k), *r.live.Processor); err == nil {
		r.shadow, err = offline.NewReplay(node.OfflineConfig(cfg, k), *r.live.Processor, r.name)
	}
	return replayFailure("cannot set up the replay", err)
}

// unknown is the error for a replay that does not exist in data_dir.
func (r *replay) unknown() error {
	names, err := r.shadow.Names()
	if err != nil {
		return replayFailure("cannot list the replays", err)
	}
	do := "data_dir has no replay: give the --data-dir in which it ran"
	if len(names) > 0 {
		do = "the replays in data_dir are: " + strings.Join(names, ", ")
	}
	if n, ok := config.Nearest(r.name, names); ok {
		do = "did you mean " + n + "?"
	}
	return cli.Fail(cli.ExitFailed, "cannot remove the replay", fmt.Errorf("%s has no replay %s", r.live.Name, r.name), do)
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
	start.Migrated = r.live.Replay.Migrated
	if err := r.shadow.Prepare(ctx, start); err != nil {
		return replayFailure("cannot start the replay", err)
	}
	report, done := r.progress()
	err = r.shadow.RunTo(ctx, sp, report)
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
		rows[i] = comparisonRow{
			c.Partition, int(c.Table), c.Equal(), c.Live.Keys, c.Replay.Keys, c.Live.Hash.String(), c.Replay.Hash.String(),
		}
		if !c.Equal() {
			differ++
		}
	}
	if err := cli.PrintRows(r.a, rows); err != nil {
		return err
	}
	waiting := sp.Unsettled()
	switch {
	case differ > 0:
		return &cli.Failure{
			Code: cli.ExitFailed, What: "the replay and the live state differ",
			Why: fmt.Sprintf("%d of %d tables of partitions differ", differ, len(list)),
			Do: fmt.Sprintf("if the replay is right, stop the live counter; then `weir replay --app %s --promote` shows the changes",
				r.name),
		}
	case len(waiting) > 0:
		return unsettledFailure(
			fmt.Errorf("%w: rows of closed days are being moved in partitions %v; %d tables of other partitions are equal",
				offline.ErrUnsettled, waiting, len(list)))
	}
	r.a.Notef("all %d tables of %d partitions are equal; `weir replay --app %s --drop` removes the replay", len(list), len(sp.Partitions),
		r.name)
	return nil
}

// settleLimit is the longest time that the command waits for a live state that is not settled.
const settleLimit = 10 * time.Minute

// target returns the savepoint to compare with: a settled one, if the live counter settles in time.
func (r *replay) target(ctx context.Context) (*offline.Savepoint, error) {
	if r.against != "" {
		sp, err := r.savepoints.Get(r.against)
		return sp, savepointFailure("cannot read the savepoint", err)
	}
	return awaitSettled(ctx, r.a.Notef, r.savepoint)
}

// standsLimit limits the wait for partitions that are not settled and have no transactions: no
// process works on them. An idle partition commits once a second, and a takeover lasts some
// seconds.
const standsLimit = time.Minute

// awaitSettled takes savepoints until one is settled, or the limit is over, and returns the last
// one. It ends early if the partitions that are not settled had no transaction for standsLimit.
func awaitSettled(
	ctx context.Context,
	note func(string, ...any),
	take func(context.Context) (*offline.Savepoint, error),
) (*offline.Savepoint, error) {
	limit := time.Now().Add(settleLimit)
	var last *offline.Savepoint
	var progress time.Time // of the first look, or of the last one at which a partition had advanced
	for wait := 2 * time.Second; ; wait = min(2*wait, 30*time.Second) {
		sp, err := take(ctx)
		if err != nil || len(sp.Unsettled()) == 0 || time.Now().Add(wait).After(limit) {
			return sp, err
		}
		if last == nil {
			note("rows of closed days are being moved: waiting up to %s", settleLimit)
		}
		if advanced(last, sp) {
			last, progress = sp, time.Now()
		}
		if time.Since(progress) >= standsLimit {
			return sp, nil
		}
		if pause.For(ctx, wait); ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// advanced reports whether a partition that is not settled in sp has had a transaction since last.
func advanced(last, sp *offline.Savepoint) bool {
	if last == nil {
		return true
	}
	before := map[int32]uint64{}
	for _, part := range last.Partitions {
		before[part.Partition] = part.Sequence
	}
	return slices.ContainsFunc(sp.Partitions, func(part offline.SavepointPart) bool {
		return part.Unsettled && part.Sequence != before[part.Partition]
	})
}

// savepoint takes a temporary savepoint. It is dropped at once, because the comparison needs its
// description only.
func (r *replay) savepoint(ctx context.Context) (*offline.Savepoint, error) {
	name := "replay-" + r.name + time.Now().UTC().Format("-20060102T150405.000")
	sp, err := createSavepoint(ctx, r.a, r.savepoints, &weirpb.CreateSavepointRequest{App: r.live.Name, Name: name})
	if err != nil {
		return nil, err
	}
	return sp, savepointFailure("cannot drop the temporary savepoint", r.savepoints.Drop(name))
}

// correct promotes the replay; without --yes it only shows the changes.
func (r *replay) correct(ctx context.Context) error {
	report, done := r.progress()
	how := offline.Promotion{Commit: r.yes, Report: report}
	how.Select = func(_ int32, live stream.Get, c stream.Commit) (offline.Selector, error) {
		return r.live.Replay.Select(r.account, live, c)
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

// unsettledFailure is the answer where a comparison would show differences that are none.
func unsettledFailure(err error) error {
	return cli.Fail(cli.ExitTempFail, "the live state cannot be compared yet", err,
		"let the live counter run, and repeat the command in some minutes, with --against a newer savepoint or none")
}

func replayFailure(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, offline.ErrUnsettled):
		return unsettledFailure(err)
	case errors.Is(err, offline.ErrInUse):
		return cli.Fail(cli.ExitFailed, what, err, "stop the live counter in all processes, then try again")
	case errors.Is(err, offline.ErrTrimmed):
		return cli.Fail(cli.ExitFailed, what, err,
			"begin at a savepoint (`weir savepoint list`), or accept other totals with --allow-trimmed")
	case errors.Is(err, offline.ErrSavepoint):
		return savepointFailure(what, err)
	case errors.Is(err, offline.ErrReplay):
		return cli.Fail(cli.ExitFailed, what, err, "`weir replay --help` describes the procedure")
	}
	return connect.RunFailure(err)
}
