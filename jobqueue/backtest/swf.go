package backtest

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// column is a column of the Standard Workload Format that can name a resource.
type column struct {
	name  string
	index int
}

// The Standard Workload Format (Feitelson): 18 columns of numbers, -1 for what is unknown. Lines
// that begin with a semicolon are comments.
const (
	swfColumns = 18
	swfSubmit  = 1 // s
	swfRun     = 3 // s
)

func columns() []column {
	return []column{{"site", 15}, {"queue", 14}, {"user", 11}, {"group", 12}, {"executable", 13}}
}

// Columns returns the names of the columns that can be Options.Resource. The format calls site a
// partition.
func Columns() (names []string) {
	for _, c := range columns() {
		names = append(names, c.name)
	}
	return names
}

func columnOf(name string) (column, error) {
	for _, c := range columns() {
		if c.name == name {
			return c, nil
		}
	}
	return column{}, fmt.Errorf("%w: %q is not a column: use one of %s", ErrConfig, name, strings.Join(Columns(), ", "))
}

// parse parses a line. Its job prefers what c names.
func (c column) parse(line []byte) (x row, err error) {
	fields := bytes.Fields(line)
	if len(fields) < swfColumns {
		return x, fmt.Errorf("%d columns, and the Standard Workload Format has %d", len(fields), swfColumns)
	}
	if x.at, err = milliseconds("arrival time", fields[swfSubmit]); err != nil {
		return x, err
	}
	if x.run, err = milliseconds("run time", fields[swfRun]); err != nil {
		return x, err
	}
	if value := string(fields[c.index]); value != "-1" {
		x.prefer = []string{c.name + ":" + value}
	}
	return x, nil
}

// milliseconds parses a number of seconds.
func milliseconds(what string, text []byte) (int64, error) {
	if string(text) == "-1" {
		return 0, fmt.Errorf("the %s is unknown", what)
	}
	s, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(s >= 0 && s <= maxAtMs/1000) {
		return 0, fmt.Errorf("the %s is %.20q, and not a number of seconds from 0 on", what, text)
	}
	return int64(math.Round(1000 * s)), nil
}
