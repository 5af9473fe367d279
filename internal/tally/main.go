// Command tally runs go test and counts: its last line is "N passed, N failed".
//
//	go run ./internal/tally [-totals FILE] -- ARGUMENTS OF go test
//
// Packages are printed as they end; a test's own output is printed if it failed. Skipped tests are listed with their
// reasons, because a test that did not run must not look like one that passed. It exits with 1 if anything failed,
// also if that was no test: a package that does not compile, a crash, a time-out.
//
// It does not choose or order tests: that is go test's work.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	totals := flag.String("totals", "", "file to append a line \"PASSED FAILED SKIPPED\" to")
	flag.Parse()
	ok, err := run(context.Background(), flag.Args(), *totals, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "tally:", err)
		os.Exit(1)
	}
	if !ok {
		os.Exit(1)
	}
}

// run runs go test with args and writes the report to w. ok tells whether everything passed.
func run(ctx context.Context, args []string, totals string, w io.Writer) (ok bool, err error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, fmt.Errorf("cannot read from go test: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return false, fmt.Errorf("cannot start go test: %w", err)
	}
	t := newTally(w)
	readErr := t.read(out)
	waitErr := cmd.Wait()
	var exit *exec.ExitError
	if waitErr != nil && !errors.As(waitErr, &exit) {
		return false, fmt.Errorf("go test did not end properly: %w", waitErr)
	}
	t.end(waitErr != nil || readErr != nil)
	if totals != "" {
		if err := t.appendTotals(totals); err != nil {
			return false, err
		}
	}
	return t.failed == 0, readErr
}

// read takes in the lines of go test -json. A line that is no event is passed on: tools below go test print such.
func (t *tally) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				t.event(e)
			} else {
				fmt.Fprintf(t.out, "%s", line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("cannot read from go test: %w", err)
		}
	}
}

func (t *tally) appendTotals(path string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("cannot note the totals: %w", err)
	}
	_, err = fmt.Fprintln(f, t.passed, t.failed, t.skipped)
	return errors.Join(err, f.Close())
}
