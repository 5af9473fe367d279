package pacing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events/eventspb"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/pacing/backtest"
)

// recordingFile is a file of recorded spend, and its flags. It is read as `weir ingest` reads CSV:
// a spend is a price, and a value is kept in a text field that spend does not need.
type recordingFile struct {
	a                                  *cli.App
	name, columns, unit, tz, delimiter string
	decimal, timeFormat, limit         string
	fields                             map[string]string
}

// The fields of a column map.
const (
	fieldSpend = "spend"
	fieldValue = "value"
)

func fields() []string { return []string{"time", "campaign", fieldSpend, fieldValue} }

const maxNamed = 3 // rejected rows in an error

func (r *recordingFile) add(f *pflag.FlagSet) {
	f.StringVar(&r.columns, "map", "", "field=column,... (fields: "+strings.Join(fields(), ", ")+"; default: the columns of these names)")
	f.StringVar(&r.unit, "spend-unit", r.unit, "unit of spend, and of an amount in --budget: "+ingest.PriceUnits())
	f.StringVar(&r.tz, "tz", r.tz, "time zone of days and of times without a zone, such as Asia/Shanghai")
	f.StringVar(&r.delimiter, "delimiter", ",", "character between columns, or tab")
	f.StringVar(&r.decimal, "decimal", ".", "decimal mark of spend, a point or a comma")
	f.StringVar(&r.timeFormat, "time-format", "", "format of times, such as '%d/%m/%Y %H:%M' (default: RFC 3339 and Unix times)")
	f.StringVar(&r.limit, "max-rejects", "0", "compare nothing, with exit code 65, if more rows are rejected: a number, or a percentage")
}

func (r *recordingFile) hasValue() bool { return r.fields[fieldValue] != "" }

// options returns how the file is read.
func (r *recordingFile) options() (opt ingest.Options, err error) {
	r.fields = map[string]string{"time": "time", "campaign": "campaign", fieldSpend: fieldSpend}
	if r.columns != "" {
		given, err := ingest.ParseMap(r.columns)
		if err != nil {
			return opt, cli.UsageError(ourWords(err.Error()),
				"write --map field=column,field=column; the fields are: "+strings.Join(fields(), ", "))
		}
		for _, name := range slices.Sorted(maps.Keys(given)) {
			if !slices.Contains(fields(), name) {
				return opt, cli.UsageError(fmt.Sprintf("--map: unknown field %q", name), "the fields are: "+strings.Join(fields(), ", "))
			}
		}
		maps.Copy(r.fields, given)
	}
	opt = ingest.Options{
		Format: ingest.FormatCSV, Account: "recorded", Currency: "USD", TZ: r.tz, PriceUnit: r.unit, TimeFormat: r.timeFormat,
		Map: map[string]string{"time": r.fields["time"], "campaign": r.fields["campaign"], "price": r.fields[fieldSpend]},
	}
	if r.hasValue() {
		opt.Map["line_item"] = r.fields[fieldValue]
	}
	delimiter := strings.NewReplacer("tab", "\t", `\t`, "\t").Replace(r.delimiter)
	if len(delimiter) != 1 || len(r.decimal) != 1 {
		return opt, cli.UsageError("--delimiter and --decimal are one ASCII character", "write --delimiter ';' or --delimiter tab")
	}
	opt.Delimiter, opt.Decimal = delimiter[0], r.decimal[0]
	return opt, nil
}

// read reads the file.
func (r *recordingFile) read(ctx context.Context) (*backtest.Recording, error) {
	opt, err := r.options()
	if err != nil {
		return nil, err
	}
	limit, err := ingest.ParseRejectLimit(r.limit)
	if err != nil {
		return nil, cli.UsageError(ourWords(err.Error()), "write --max-rejects 100 or --max-rejects 10%")
	}
	src, err := ingest.Open(ctx, r.name, r.a.Stdin)
	if err != nil {
		return nil, cli.Fail(0, "cannot open the input", err, "check the path; - reads standard input")
	}
	defer func() { _ = src.Close() }()
	reader, err := ingest.NewReader(src, opt)
	switch {
	case errors.Is(err, ingest.ErrUsage):
		return nil, cli.UsageError(ourWords(err.Error()), "`weir pacing backtest --help` shows the flags")
	case err != nil:
		return nil, cli.Fail(cli.ExitData, fmt.Sprintf("cannot read %q", r.name), err, "check the file and --map")
	}
	x := reading{recording: &backtest.Recording{}, value: r.hasValue()}
	if err := x.rows(ctx, reader, limit); err != nil {
		return nil, err
	}
	if x.rejected > 0 {
		r.a.Notef("rejected %d of %d rows, which are not in the figures: %s", x.rejected, x.read, x.named())
	}
	return x.recording, nil
}

// reading is a file that is read.
type reading struct {
	recording      *backtest.Recording
	value          bool
	read, rejected int64
	first          []string // rejected rows
}

func (x *reading) rows(ctx context.Context, reader *ingest.Reader, limit ingest.RejectLimit) error {
	const nothing = "nothing was compared"
	for {
		row, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return cli.Fail(0, "the input was not read to its end", err, "run the same command again")
		}
		if x.read++; x.read%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if reason := x.add(&row); reason != "" {
			if x.rejected++; x.rejected <= maxNamed {
				x.first = append(x.first, fmt.Sprintf("line %d: %s", row.Line, reason))
			}
		}
	}
	err := limit.Check(x.rejected, x.read, true)
	switch {
	case x.read == 0:
		return cli.Fail(cli.ExitData, nothing, errors.New("the input has no rows"), "check the file")
	case err != nil, x.read == x.rejected:
		return cli.Fail(cli.ExitData, nothing, fmt.Errorf("%d of %d rows are rejected: %s", x.rejected, x.read, x.named()),
			"correct or delete the rows, check --map, --spend-unit and --time-format, or allow more by --max-rejects")
	}
	return nil
}

// named returns the first rejected rows with their reasons.
func (x *reading) named() string {
	text := strings.Join(x.first, "; ")
	if more := x.rejected - int64(len(x.first)); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// add adds a row. The reason is why it is rejected, "" if it is not.
func (x *reading) add(row *ingest.Row) (reason string) {
	if row.Err != nil {
		return ourWords(row.Err.Reason + ": " + row.Err.Detail)
	}
	var e *eventspb.AdEvent
	for _, e = range row.Events {
		add := backtest.Row{AtMs: e.GetEventMs(), Micros: float64(e.GetPriceMicros())}
		if x.value {
			v, err := strconv.ParseFloat(strings.TrimSpace(e.GetLineItem()), 64)
			if err != nil || !(v >= 0 && v <= 1e15) || math.Signbit(v) {
				return fmt.Sprintf("bad_value: %q is not a number from 0 on", e.GetLineItem())
			}
			add.Value = v
		}
		x.recording.Add(e.GetCampaign(), add)
	}
	return ""
}

// ourWords replaces the fields of an event by those of a recording.
func ourWords(text string) string {
	text = strings.TrimPrefix(text, ingest.ErrUsage.Error()+": ")
	return strings.NewReplacer(
		"refund by an adjustment, not by an event", "write a spend of 0 or more", "price unit", "--spend-unit", "price", fieldSpend,
		"line_item", fieldValue,
	).Replace(text)
}
