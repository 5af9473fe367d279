package node

import (
	"regexp"
	"testing"
)

// dashboard is the part of compose/grafana/weir.json that tests read.
type dashboard struct {
	Panels []struct {
		ID          int
		Type, Title string
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Name, Query string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	composeFile(t, "grafana/weir.json", &d)
	return d
}

// TestDashboard: panels have an id and a place of their own, the variables that expressions use
// exist, and each variable is used. Grafana shows a panel with an unknown variable as empty.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	used := map[string]bool{}
	for i, p := range d.Panels {
		if (len(p.Targets) == 0) != (p.Type == "row") {
			t.Errorf("panel %q of type %s has %d queries", p.Title, p.Type, len(p.Targets))
		}
		for _, o := range d.Panels[:i] {
			a, b := p.GridPos, o.GridPos
			if p.ID == o.ID || p.Title == o.Title || (a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H) {
				t.Errorf("panels %q and %q have an id, a title or a place in common", o.Title, p.Title)
			}
		}
		for _, q := range p.Targets {
			for _, m := range regexp.MustCompile(`\$([a-z_]+)`).FindAllStringSubmatch(q.Expr, -1) {
				used[m[1]] = true
			}
		}
	}
	for _, v := range d.Templating.List {
		if !used[v.Name] {
			t.Errorf("no panel uses the variable %s", v.Name)
		}
		delete(used, v.Name)
	}
	for name := range used {
		t.Errorf("there is no variable %s", name)
	}
}
