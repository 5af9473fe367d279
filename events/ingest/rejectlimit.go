package ingest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrTooManyRejects is wrapped by the error of a run that Job.MaxRejects ended.
var ErrTooManyRejects = errors.New("too many rows are rejected")

// rowsForPercent is the number of rows from which a percentage ends a run before its end.
const rowsForPercent = 1000

// RejectLimit is the greatest number of rejected rows: Rows, or Percent of the rows read. The zero
// value means no limit.
type RejectLimit struct {
	Rows    int64
	Percent float64
	set     bool
}

// ParseRejectLimit parses "N" or "N%".
func ParseRejectLimit(text string) (RejectLimit, error) {
	if number, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !(percent >= 0 && percent <= 100) {
			return RejectLimit{}, usage("limit of rejected rows %q: the percentage is a number from 0%% to 100%%", text)
		}
		return RejectLimit{Percent: percent, set: true, Rows: -1}, nil
	}
	rows, err := strconv.ParseInt(text, 10, 64)
	if err != nil || rows < 0 {
		return RejectLimit{}, usage("limit of rejected rows %q: write a number of rows such as 100, or a percentage such as 10%%", text)
	}
	return RejectLimit{Rows: rows, set: true}, nil
}

// Check returns an error that wraps ErrTooManyRejects if too many of the rows read so far were
// rejected. atEnd is true after the last row. Before that a percentage needs rowsForPercent rows.
func (l RejectLimit) Check(rejected, read int64, atEnd bool) error {
	switch {
	case !l.set:
		return nil
	case l.Rows >= 0 && rejected > l.Rows:
		return fmt.Errorf("%w: %d of %d, at most %d are allowed", ErrTooManyRejects, rejected, read, l.Rows)
	case l.Rows < 0 && (atEnd || read >= rowsForPercent) && float64(rejected)*100 > l.Percent*float64(read):
		return fmt.Errorf("%w: %d of %d, at most %g%% are allowed", ErrTooManyRejects, rejected, read, l.Percent)
	}
	return nil
}
