package spend

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/internal/ingest"
)

// importRun is what the imports of events and of adjustments have in common: the input, the file
// for rejected rows, and what is reported.
type importRun struct {
	a                  *cli.App
	name, rejects      string // rejects is by the input's name if it is empty
	limit              ingest.RejectLimit
	noun, acknowledged string // what is produced, and what happened to it: "acknowledged"
	stopped, format    string // remedies: after too many rejects; if every row was rejected
	incomplete, reader string // remedies: after another error; if the reader refuses the flags
	unit               string // flag for the unit of prices or amounts
}

// open opens the input.
func (r importRun) open() (*ingest.Source, error) {
	src, err := ingest.Open(r.name, r.a.Stdin)
	if err != nil {
		return nil, cli.Fail(0, "cannot open the input", err, "check the path; - reads standard input")
	}
	return src, nil
}

// readerFailure adds the remedy to an error of a new reader.
func (r importRun) readerFailure(err error, src *ingest.Source) error {
	var delimiter *ingest.DelimiterError
	switch {
	case errors.Is(err, ingest.ErrNoPriceUnit):
		return cli.UsageError(err.Error(), "add "+r.unit+" major if the values are like 1.50 for one and a half dollars, else the unit that fits")
	case errors.As(err, &delimiter):
		flag := "'" + string(rune(delimiter.Looks)) + "'"
		if delimiter.Looks == '\t' {
			flag = "tab"
		}
		return cli.UsageError(err.Error(), "add --delimiter "+flag)
	case errors.Is(err, ingest.ErrUsage):
		return cli.UsageError(err.Error(), r.reader)
	}
	return cli.Fail(cli.ExitData, fmt.Sprintf("cannot read %q", src.Name()), err, "check "+r.format)
}

// run produces the rows of reader. It reports rejected rows and errors.
func (r importRun) run(ctx context.Context, src *ingest.Source, reader *ingest.Reader, job ingest.Job) (ingest.Summary, error) {
	a, rejects := r.a, r.rejects
	if rejects == "" {
		rejects = ingest.RejectsName(filepath.Base(r.name))
	}
	file := ingest.NewRejectFile(rejects)
	bar, done := ingestProgress(a, src.Size(), r.noun)
	job.Rejects, job.MaxRejects, job.Progress = file, r.limit, bar
	sum, err := ingest.Run(ctx, reader, job)
	done()
	if err = errors.Join(err, file.Close()); err != nil {
		a.Notef("so far: %d rows read, %d %s %s, %d rows rejected", sum.Read, sum.Produced, r.noun, r.acknowledged, sum.Rejected)
		if errors.Is(err, ingest.ErrTooManyRejects) && sum.Rejected < sum.Read {
			return sum, cli.Fail(cli.ExitData, "the import stopped", err, fmt.Sprintf("see the reasons in %q. %s", sum.RejectsFile, r.stopped))
		}
		if errors.Is(err, ingest.ErrTooManyRejects) {
			return sum, r.nothing(&sum, fmt.Errorf("every row was rejected: %w", err))
		}
		return sum, cli.Fail(0, "the import is not complete", err, r.incomplete)
	}
	if sum.Read == 0 {
		a.Notef("the input has no rows: nothing was produced")
	}
	if sum.Rejected > 0 {
		a.Notef("rejected %d of %d rows: %q has each with its line and reason", sum.Rejected, sum.Read, sum.RejectsFile)
	}
	if sum.Rejected == sum.Read && sum.Read > 0 {
		return sum, r.nothing(&sum, errors.New("every row was rejected"))
	}
	return sum, nil
}

func (r importRun) nothing(sum *ingest.Summary, err error) error {
	return cli.Fail(cli.ExitData, "nothing was imported", err, fmt.Sprintf("see the reasons in %q; often %s is wrong", sum.RejectsFile, r.format))
}
