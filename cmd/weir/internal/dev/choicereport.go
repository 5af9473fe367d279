package dev

import (
	"context"
	"fmt"
	"time"

	"github.com/weirhq/weir/api/weirpb"
	"github.com/weirhq/weir/internal/pause"
)

// choiceReporter reports which datasets the readers of a datacentre use, when that changes.
type choiceReporter struct {
	dc       string
	datasets func() []*weirpb.ShardDatasets
	report   func(format string, args ...any)
	last     string // what was reported
	seen     string // at the last look
}

func newChoiceReporter(d *datacentre, report func(format string, args ...any)) *choiceReporter {
	return &choiceReporter{dc: d.name, datasets: d.node.SpendCache.Datasets, report: report}
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
	text, why := describeChoices(r.dc, r.datasets())
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
	switch {
	case len(order) == 0:
		return dc + " uses no dataset yet", ""
	case len(order) == 1:
		return fmt.Sprintf("%s uses %s", dc, order[0]), why
	}
	text = dc + " uses"
	for i, name := range order {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(" %s for %d of %d shards", name, used[name], len(shards))
	}
	return text, why
}
