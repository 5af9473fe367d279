package lint

import (
	"slices"
	"strings"
	"testing"
)

// TestPhrases checks the glossary's retired phrases on sentences that this project had, and on
// sentences that may stay.
func TestPhrases(t *testing.T) {
	files := repository(t)
	i := slices.IndexFunc(files, func(f File) bool { return f.Path == glossaryDoc })
	if i < 0 {
		t.Fatalf("%s does not exist", glossaryDoc)
	}
	retired, err := ParseRetired(files[i].Text)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ habit, bad, good string }{
		{"the noun write lease as a verb", `
			A region without a write lease may write leases for ever, also when it is cut off.
			The region may write leases as long as at least one other region renews its write lease.
			WriteLease is a region's permission to write leases.
			ErrEarly means that agents of the region may still write leases.
			A region that is cut off writes leases until its write lease ends.
		`, `
			The region renews the write leases of the other regions.
			A region may grant leases while it has a current write lease.
			It reads the write leases of all regions.
			Two requests for settings and write leases.
		`},
		{"no for not a", `
			--kafka-port 99999 is no port
			a field with the tag table:"-" is no column
			a stop is no failure
			does not answer, or is no weir API
			Files that are no regular file are copied.
			A value that is no number is rejected.
		`, `
			There is no port.
			The request fails if there are no credentials.
			without a row, where there was no change
			The limit is no longer than a minute.
			A value is no greater than the limit.
			Whether no process runs is unknown.
		`},
		{"a for per", `
			One idea a sentence.
			a fault sequence, by seed: 12 ms a seed
			file with a resource a line; - reads standard input
			It returns the rights, one a line.
			ad events a second; 0: heartbeats only
			They are released at 400 a second.
			One change a commit; each builds.
		`, `
			One idea per sentence.
			It is called several times a second.
			It waits for a second and tries again.
			Each event has a line.
			Give each event a row.
		`},
		{"a subject for the error's noun", `
			func f() error { return errors.New("its id is empty") }
			func f() error { return fmt.Errorf("it is for region %q", r) }
			func f() error { return fmt.Errorf("its headroom has the number %d", n) }
			func f() error { return fmt.Errorf("%w: its positions are %v", ErrReplay, p) }
			func f() error { return errors.New("it was resolved before, or never rejected") }
			func f() error { return fmt.Errorf("its record belongs to partition %d", p) }
			func f() error { return errorf(code, 1, fmt.Errorf("their offsets are lost")) }
		`, `
			func f() error { return errors.New("the id is empty") }
			func f() error { return fmt.Errorf("item %d is lost", n) }
			func f() string { return "its state" }
		`},
		{"a riddle after a sentence", `
			Agents stop; nothing else has to reach it.
			One event near that bound would block its shard; hence the bound.
			They have no part; neither have refunds, duplicates and closed days.
			The clocks differ by at most the skew; so do the clocks of regions.
			The lists sum them; what has no row is in the row without a name.
			A resource with a lease has one timer; others have none.
		`, `
			Records of other applications stay; nothing is written.
			The transaction is aborted; the records are read again.
			The process continues; the other regions see no lease.
			Somewhat slower; whatever is needed is read.
		`},
	} {
		for _, bad := range sentences(tc.bad) {
			if len(CheckWords([]File{sentence(bad)}, retired, nil)) == 0 {
				t.Errorf("%s: no complaint about %q", tc.habit, bad)
			}
		}
		for _, good := range sentences(tc.good) {
			for _, c := range CheckWords([]File{sentence(good)}, retired, nil) {
				t.Errorf("%s: %q: %s", tc.habit, good, c)
			}
		}
	}
}

// sentences returns the lines of text without their indentation.
func sentences(text string) []string {
	var list []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		list = append(list, strings.TrimSpace(line))
	}
	return list
}

// sentence returns a file with text: of Go if it is a function, else of Markdown.
func sentence(text string) File {
	if strings.HasPrefix(text, "func ") {
		return file("a/a.go", text)
	}
	return File{"README.md", []byte(text + "\n")}
}
