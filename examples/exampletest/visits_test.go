package exampletest

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestImpossibleVisits: each part of the views is possible, and answers that no part makes are
// noticed.
func TestImpossibleVisits(t *testing.T) {
	in := newVisitInput(rand.New(rand.NewPCG(1, 0)))
	user := in.users[slices.IndexFunc(in.users, func(user string) bool {
		list := in.visits[user]
		return len(list) > 1 && len(list[0].times) > 2
	})]
	a, b := in.visits[user][0], in.visits[user][1]
	sentMs := b.lastMs()
	for n := range a.times {
		if why := in.impossible(user, []openVisit{{a.times[0], a.times[n], n + 1}}, sentMs); why != "" {
			t.Errorf("%d views: %s", n+1, why)
		}
	}
	first, second := openVisit{a.times[0], a.lastMs(), len(a.times)}, openVisit{b.times[0], b.lastMs(), len(b.times)}
	if why := in.impossible(user, []openVisit{first, second}, sentMs); why != "" {
		t.Error(why)
	}
	for want, list := range map[string][]openVisit{
		"the list is empty":   {},
		"the order":           {second, first},
		"no visit begins at":  {{a.times[1], a.lastMs(), len(a.times) - 1}},
		"has ":                {{first.FirstMs, first.LastMs, first.Value + 1}},
		"view 2 of the visit": {{first.FirstMs, first.LastMs, 2}},
	} {
		if why := in.impossible(user, list, sentMs); !strings.Contains(why, want) {
			t.Errorf("%v: %q, want %q", list, why, want)
		}
	}
	if why := in.impossible(user, []openVisit{second}, sentMs-1); !strings.Contains(why, "only views up to") {
		t.Error(why)
	}
}
