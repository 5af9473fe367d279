package page

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/weirhq/weir/api/render"
	"github.com/weirhq/weir/api/weirpb"
)

// PacingStatus is how the accounts of all partitions are paced.
type PacingStatus struct {
	Sampled

	Status *weirpb.GetPacingStatusResponse
}

// maxProblems is the number of partitions with a problem on the page.
const maxProblems = 20

// PacingTotals are figures of all partitions that can be read.
type PacingTotals struct {
	Accounts, Campaigns, Open string
	Reasons                   []PacedReason // the most frequent ones first
	Problems                  []render.PacingShardRow
	More                      int // number of problems that Problems leaves out
}

// PacedReason is the number of campaigns whose parameters have a reason.
type PacedReason struct{ Reason, Campaigns string }

// Totals returns the figures.
func (p *PacingStatus) Totals() (t PacingTotals) {
	var accounts, campaigns, open int64
	reasons := map[string]int64{}
	for _, r := range render.PacingShardRows(p.Status) {
		accounts, campaigns, open = accounts+r.Accounts, campaigns+r.Campaigns, open+r.Open
		for reason, n := range r.Reasons {
			reasons[reason] += n
		}
		switch {
		case r.Problem == "":
		case len(t.Problems) == maxProblems:
			t.More++
		default:
			t.Problems = append(t.Problems, r)
		}
	}
	names := slices.SortedFunc(maps.Keys(reasons), func(a, b string) int {
		return cmp.Or(cmp.Compare(reasons[b], reasons[a]), cmp.Compare(a, b))
	})
	for _, name := range names {
		t.Reasons = append(t.Reasons, PacedReason{name, count(reasons[name])})
	}
	t.Accounts, t.Campaigns, t.Open = count(accounts), count(campaigns), count(open)
	return t
}

// Read returns the time of day at which the figures were read.
func (p *PacingStatus) Read() string { return p.At.UTC().Format(time.TimeOnly) }
