package dev

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/internal/pause"
)

// choiceReporter reports what the readers of a datacentre use, when that changes.
type choiceReporter struct {
	dc       string
	describe func(dc string, shards []*weirpb.ShardDatasets) (text, why string)
	datasets func() []*weirpb.ShardDatasets
	report   func(format string, args ...any)
	last     string // what was reported
	seen     string // at the last look
}

// newChoiceReporters returns one for the datasets, and one for the parameters of campaigns.
func newChoiceReporters(d *datacentre, report func(format string, args ...any)) (list []*choiceReporter) {
	for _, describe := range []func(string, []*weirpb.ShardDatasets) (string, string){describeChoices, describePacing} {
		list = append(list, &choiceReporter{dc: d.name, describe: describe, datasets: d.node.SpendCache.Datasets, report: report})
	}
	return list
}

// choiceEvery is the interval of the looks. A change is reported when two looks have seen it, so
// that shards that change within a second share a line.
const choiceEvery = 700 * time.Millisecond

func (r *choiceReporter) run(ctx context.Context) {
	for pause.For(ctx, choiceEvery) {
		r.look()
	}
}

func (r *choiceReporter) look() {
	text, why := r.describe(r.dc, r.datasets())
	if text == r.seen && text != r.last {
		if r.last != "" || why != "" {
			r.report("%s", text+why)
		}
		r.last = text
	}
	r.seen = text
}

// describeChoices returns which datasets a datacentre uses, and why if it is not the own one alone.
func describeChoices(dc string, shards []*weirpb.ShardDatasets) (text, why string) {
	used := map[string]int{}
	var order []string
	for _, s := range shards {
		name := "the dataset of " + s.GetChoice().GetDc()
		if s.GetChoice().GetMode() != "normal" {
			name = fmt.Sprintf("all datasets (%s)", s.GetChoice().GetMode())
		}
		if used[name] == 0 {
			order = append(order, name)
		}
		if used[name]++; s.GetChoice().GetDc() != dc && why == "" {
			why = ", because " + s.GetChoice().GetReason()
		}
	}
	if len(order) == 0 {
		return dc + " uses no dataset yet", ""
	}
	return dc + " uses" + parts(order, used, len(shards)), why
}

// parts returns which shards use what.
func parts(order []string, used map[string]int, shards int) (text string) {
	if len(order) == 1 {
		return " " + order[0]
	}
	for i, name := range order {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %s for %d of %d shards", name, used[name], shards)
	}
	return text
}

// describePacing returns whose parameters the ad servers of a datacentre have, and why if these are
// not the own ones alone.
func describePacing(dc string, shards []*weirpb.ShardDatasets) (text, why string) {
	used := map[string]int{}
	var order []string
	for _, s := range shards {
		name := "the parameters of " + s.GetPacingDc()
		if used[name] == 0 {
			order = append(order, name)
		}
		switch used[name]++; {
		case s.GetPacingOverride():
			why = ", because an override decides it"
		case s.GetPacingDc() != dc && why == "":
			why = ", because no process paces their accounts in " + dc
		}
	}
	if len(order) == 0 {
		return "the ad servers of " + dc + " have no parameters yet", ""
	}
	return "the ad servers of " + dc + " have" + parts(order, used, len(shards)), why
}
