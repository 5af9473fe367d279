package lease

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events/ingest"
	"github.com/weirhq/weir/lease/admin"
	"github.com/weirhq/weir/stream"
)

// Reasons in the rejects file of an import.
const (
	reasonName      = "bad_name"   // not a valid name of a resource
	reasonOtherPool = "other_pool" // the resource exists in another pool
)

const shownRejects = 10 // rejected lines that are printed

// errRejects ends an import with more rejected lines than --max-rejects allows.
var errRejects = errors.New("too many lines are rejected")

// rejectLimit is the value of --max-rejects: a number of lines, or a whole percentage of the lines.
type rejectLimit struct {
	ingest.RejectLimit
	text string
}

// Type implements pflag.Value.
func (l *rejectLimit) Type() string { return "number|percent%" }

// String implements pflag.Value.
func (l *rejectLimit) String() string { return l.text }

// Set implements pflag.Value.
func (l *rejectLimit) Set(text string) error {
	limit, err := ingest.ParseRejectLimit(text)
	_, whole := strconv.ParseInt(strings.TrimSuffix(text, "%"), 10, 64)
	if err != nil || whole != nil {
		return fmt.Errorf("%q is neither a number of lines nor a percentage: write 25 or 10%%", text)
	}
	*l = rejectLimit{limit, text}
	return nil
}

// rejects receives the rejected lines of an import. It prints the first ones, keeps all of them in
// a file, and ends the import when they exceed the limit.
type rejects struct {
	a     *cli.App
	file  *ingest.RejectFile
	limit rejectLimit
	n     int64 // rejected lines
	lines int64 // greatest line number of them
}

// reject is the Rejected of an import.
func (r *rejects) reject(line admin.RejectedLine) error {
	if r.n++; r.n <= shownRejects {
		r.a.Notef("line %d: %v", line.Line, line.Err)
	}
	r.lines = max(r.lines, line.Line)
	reason := reasonName
	if errors.Is(line.Err, admin.ErrExists) {
		reason = reasonOtherPool
	}
	row := ingest.Row{Line: int(line.Line), Raw: []byte(line.Text), Err: &stream.RejectError{Reason: reason, Detail: line.Err.Error()}}
	if err := r.file.WriteReject(&row); err != nil {
		return err
	}
	if r.limit.Check(r.n, r.lines, false) != nil {
		return errRejects
	}
	return nil
}

// note prints where the rejected lines are.
func (r *rejects) note() {
	if r.n > shownRejects {
		r.a.Notef("and %d more rejected lines", r.n-shownRejects)
	}
	if r.n > 0 {
		r.a.Notef("%s has the rejected lines, each with its reason", r.file.Name())
	}
}

// failure returns the failure of an import with too many rejected lines, nil if they are few.
func (r *rejects) failure(sum *admin.ImportProgress, ended bool) error {
	what, lines := "some lines were not imported", sum.Lines-sum.Blank
	switch {
	case ended:
		what, lines = "the import is not complete", r.lines
	case r.n > 0 && r.n == lines:
		return cli.Fail(cli.ExitData, "nothing was imported", errors.New("every line was rejected"),
			"write one resource per line, in UTF-8; `weir resource update --pool` moves a resource of another pool")
	case r.limit.Check(r.n, lines, true) == nil:
		return nil
	}
	return cli.Fail(cli.ExitData, what, fmt.Errorf("%w: %d of %d, more than --max-rejects %s", errRejects, r.n, lines, &r.limit),
		"see the reasons in "+r.file.Name()+", and correct the input; or give a greater --max-rejects")
}
