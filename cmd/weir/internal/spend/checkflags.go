package spend

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events/ingest"
)

// dayFlag returns the budget day of a flag in the form of the API: YYYY-MM-DD, empty if text is
// empty. name is the flag, such as --day. A text that is not a day is a usage error. It is reported
// before a server is asked.
func dayFlag(name, text string) (string, error) {
	day := dayOf(text)
	if day == "" {
		return "", nil
	}
	if _, err := time.Parse(time.DateOnly, day); err != nil {
		return "", cli.UsageError(fmt.Sprintf("%s %q is not a date", name, text),
			"write YYYY-MM-DD, such as 2026-11-01, today or yesterday")
	}
	return day, nil
}

// dayRange returns the budget days of --from and --to as dayFlag does.
func dayRange(from, to string) (first, last string, err error) {
	if first, err = dayFlag("--from", from); err != nil {
		return "", "", err
	}
	if last, err = dayFlag("--to", to); err != nil {
		return "", "", err
	}
	if first != "" && last != "" && first > last {
		return "", "", cli.UsageError(fmt.Sprintf("--from %s is later than --to %s", first, last), "exchange the two days")
	}
	return first, last, nil
}

// oneOf returns a usage error if the value of flag name is neither empty nor in allowed.
func oneOf(name, value string, allowed ...string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	last := len(allowed) - 1
	return cli.UsageError(fmt.Sprintf("%s %q does not exist", name, value),
		"use "+strings.Join(allowed[:last], ", ")+" or "+allowed[last])
}

// usageText returns the text of an error about the options of an import, without the name of the
// package: a reader of `weir adjust` has not called it.
func usageText(err error) string {
	return strings.TrimPrefix(err.Error(), ingest.ErrUsage.Error()+": ")
}
