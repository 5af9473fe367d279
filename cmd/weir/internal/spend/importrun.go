package spend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events/ingest"
)

// importRun is what the imports of events and of adjustments have in common: the input, the file
// for rejected rows, and what is reported. An import reads its input twice: check rejects rows and
// may refuse the import, produce produces the rows of an import that was not refused.
type importRun struct {
	a             *cli.App
	name, rejects string // rejects is by the input's name if it is empty
	limit         ingest.RejectLimit
	noun          string // what is produced
	help, format  string // remedies: if the reader refuses the flags; if every row was rejected
	corrected     string // remedy for the rejected rows of an import that was not refused
	incomplete    string // remedy if the import ended before its last row
	unit          string // flag for the unit of prices or amounts
	newReader     func(io.Reader) (*ingest.Reader, error)
	print         func(*ingest.Summary) error
}

// open opens the input.
func (r importRun) open(ctx context.Context) (*ingest.Source, error) {
	src, err := ingest.Open(ctx, r.name, r.a.Stdin)
	if err != nil {
		return nil, cli.Fail(0, "cannot open the input", err, "check the path; - reads standard input")
	}
	return src, nil
}

// reader returns a reader of the whole input.
func (r importRun) reader(src *ingest.Source) (*ingest.Reader, error) {
	if err := src.Rewind(); err != nil {
		return nil, cli.Fail(0, "cannot read the input", err, "")
	}
	reader, err := r.newReader(src)
	var delimiter *ingest.DelimiterError
	switch {
	case err == nil:
		return reader, nil
	case errors.Is(err, ingest.ErrNoPriceUnit):
		return nil, cli.UsageError(usageText(err),
			"add "+r.unit+" major if the values are like 1.50 for one and a half dollars, else the unit that fits")
	case errors.As(err, &delimiter):
		flag := "'" + string(rune(delimiter.Looks)) + "'"
		if delimiter.Looks == '\t' {
			flag = "tab"
		}
		return nil, cli.UsageError(usageText(err), "add --delimiter "+flag)
	case errors.Is(err, ingest.ErrUsage):
		return nil, cli.UsageError(usageText(err), r.help)
	}
	return nil, cli.Fail(cli.ExitData, fmt.Sprintf("cannot read %q", src.Name()), err, "check "+r.format)
}

// check reads all rows and produces nothing. It calls first with the first good row, and reports
// and keeps the rejected ones. If they are too many, or all rows, it prints the result, in which
// nothing is produced, and returns an error.
func (r importRun) check(ctx context.Context, src *ingest.Source, reader *ingest.Reader, first func(*ingest.Row)) (ingest.Summary, error) {
	rejects := r.rejects
	if rejects == "" {
		rejects = ingest.RejectsName(filepath.Base(r.name))
	}
	file := ingest.NewRejectFile(rejects)
	bar, done := ingestProgress(r.a, src.Size(), "check", r.noun)
	sum, err := ingest.Run(ctx, reader, ingest.Job{Sink: &drySink{}, Rejects: file, MaxRejects: r.limit, First: first, Progress: bar})
	done()
	err = errors.Join(err, file.Close())
	refused := errors.Is(err, ingest.ErrTooManyRejects)
	if err != nil && !refused {
		return sum, cli.Fail(0, "the input was not read to its end", err, "nothing was produced: run the same command again")
	}
	if sum.Read == 0 {
		r.a.Notef("the input has no rows: nothing was produced")
		return sum, nil
	}
	var failed error
	switch {
	case sum.Rejected == sum.Read:
		failed = cli.Fail(cli.ExitData, "nothing was imported", errors.Join(errors.New("every row was rejected"), err),
			fmt.Sprintf("see the reasons in %q; often %s is wrong", sum.RejectsFile, r.format))
	case refused:
		failed = cli.Fail(cli.ExitData, "the import was refused", err,
			fmt.Sprintf(
				"see the reasons in %q. Nothing was produced. Correct or delete the rows, or allow more by --max-rejects, and run the command again", sum.RejectsFile))
	}
	if failed != nil {
		sum.Produced, sum.Impressions, sum.Clicks, sum.Micros = 0, 0, 0, map[string]int64{}
		if err := r.print(&sum); err != nil {
			return sum, err
		}
		return sum, failed
	}
	if sum.Rejected > 0 {
		r.a.Notef("rejected %d of %d rows: %q has each with its line and reason. %s", sum.Rejected, sum.Read, sum.RejectsFile, r.corrected)
	}
	return sum, nil
}

// produce produces the rows of an input that check has read with the result checked, and prints the
// result, also of an import that is not complete.
func (r importRun) produce(ctx context.Context, src *ingest.Source, job ingest.Job, checked *ingest.Summary) error {
	reader, err := r.reader(src)
	if err != nil {
		return err
	}
	bar, done := ingestProgress(r.a, src.Size(), "ingest", r.noun)
	job.Rejects, job.Progress = keptRejects{checked.RejectsFile}, bar
	sum, err := ingest.Run(ctx, reader, job)
	done()
	sum.Seconds += checked.Seconds
	if err == nil && (sum.Read != checked.Read || sum.Rejected != checked.Rejected) {
		err = fmt.Errorf(
			"the input was changed during the import: first it had %d rows, %d of them rejected, and then %d, %d of them rejected",
			checked.Read, checked.Rejected, sum.Read, sum.Rejected)
	}
	if err := r.print(&sum); err != nil {
		return err
	}
	if err != nil {
		return cli.Fail(0, "the import is not complete", err, r.incomplete)
	}
	return nil
}

// keptRejects is the file of rejected rows that check has written.
type keptRejects struct{ name string }

func (k keptRejects) WriteReject(*ingest.Row) error { return nil }

func (k keptRejects) Name() string { return k.name }

// drySink takes records and drops them.
type drySink struct{ n int64 }

func (s *drySink) Produce(context.Context, int32, ingest.Record) error {
	s.n++
	return nil
}

func (s *drySink) Flush(context.Context) error { return nil }

func (s *drySink) Acked() int64 { return s.n }
