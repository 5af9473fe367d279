package ingest

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestRejectLimit(t *testing.T) {
	good := func(n int) []string { return slices.Repeat([]string{goodJSON}, n) }
	bad := func(n int) []string { return slices.Repeat([]string{"{"}, n) }
	for _, c := range []struct {
		name, limit string
		lines       []string
		read        int64 // rows until the end of the run
		fails       bool
	}{
		{"all of them", "0", good(3), 3, false},
		{"the first", "0", append(bad(1), good(3)...), 1, true},
		{"a number", "2", slices.Concat(bad(2), good(3), bad(1), good(9)), 6, true},
		{"not over the number", "2", append(bad(2), good(3)...), 5, false},
		{"10 of 12", "10%", append(bad(10), good(2)...), 12, true},
		{"1 of 10", "10%", append(bad(1), good(9)...), 10, false},
		{"no early end of few rows", "50%", append(bad(400), good(400)...), 800, false},
		{"an early end of many rows", "10%", bad(5000), rowsForPercent, true},
		{"no row", "0%", nil, 0, false},
	} {
		limit, err := ParseRejectLimit(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := Run(t.Context(), jsonReader(t, c.lines...), Job{Sink: &memorySink{}, Rejects: noRejects(t), MaxRejects: limit})
		if errors.Is(err, ErrTooManyRejects) != c.fails || err != nil && !c.fails || sum.Read != c.read {
			t.Errorf("%s: %d rows, %v", c.name, sum.Read, err)
		}
	}
	for _, text := range []string{"", "x", "-1", "-1%", "101%", "NaN%", "%", "1.5"} {
		if l, err := ParseRejectLimit(text); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "10%") && !strings.Contains(err.Error(), "100%") {
			t.Errorf("%q: %v, %v", text, l, err)
		}
	}
}

func TestRejectFileIsBounded(t *testing.T) {
	f := noRejects(t)
	f.bytes = maxRejectsBytes - 60
	row := &Row{Line: 1, Err: reject(ReasonJSON, "x"), Raw: []byte("abc"), Size: 3}
	if err := f.WriteReject(row); err != nil {
		t.Fatal(err)
	}
	if err := f.WriteReject(row); err == nil || !strings.Contains(err.Error(), "check the format") {
		t.Errorf("over the bound: %v", err)
	}
}
