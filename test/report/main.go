package main

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// flakyLines is the number of lines that are printed of a flaky test's first failure.
const flakyLines = 60

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: report EVENTS.json (TOTALS names the file to which the counts are appended)")
		os.Exit(64)
	}
	if err := report(os.Args[1], os.Getenv("TOTALS"), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// report prints what is flaky, and appends the counts to the file totals, unless it is empty. It
// returns an error if a test failed for good, or none ran.
func report(events, totals string, w io.Writer) error {
	f, err := os.Open(events)
	if err != nil {
		return fmt.Errorf("open the events: %w", err)
	}
	defer func() { _ = f.Close() }()
	o, err := read(f)
	if err != nil {
		return err
	}
	if !o.ran() {
		fmt.Fprintln(w, "no test ran: check the packages, the -run pattern and the build tags")
		o.failed = 1
	}
	if err := printFlaky(w, o.flaky); err != nil {
		return err
	}
	if err := add(totals, o.line()); err != nil {
		return err
	}
	if o.failed > 0 {
		return fmt.Errorf("%d failed", o.failed)
	}
	return nil
}

// printFlaky prints each flaky test with the last lines of its first failure.
func printFlaky(w io.Writer, flaky []flake) error {
	if len(flaky) == 0 {
		return nil
	}
	fmt.Fprint(w, "\n=== Flaky: failed once, and passed in a second run\n")
	for _, f := range flaky {
		fmt.Fprintf(w, "=== FLAKY: %s\n", f.test)
		lines := strings.SplitAfter(f.output, "\n")
		for _, line := range lines[max(0, len(lines)-flakyLines):] {
			fmt.Fprint(w, line)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}

// add appends text to the file, if one is named.
func add(file, text string) (err error) {
	if file == "" {
		return nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open the file of the totals: %w", err)
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return err
}
