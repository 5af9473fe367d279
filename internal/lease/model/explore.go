package model

import (
	"strings"

	"github.com/weirhq/weir/internal/lease"
)

// Result is what Explore found.
type Result struct {
	States  int
	Broken  string   // the invariant, "" if none
	History []string // of a shortest way to it
}

// String is the transcript.
func (r Result) String() string {
	if r.Broken == "" {
		return "no invariant is broken"
	}
	return strings.Join(r.History, "\n") + "\n" + r.Broken
}

// Explore visits every state, nearest first, until an invariant breaks or there is no new one, or there are more than limit.
func Explore(c Config, limit int) Result {
	m := &model{Config: c, rows: newPool[lease.Row](), clients: newPool[client](), commands: newPool[command]()}
	start := m.start()
	numbers := map[world]int32{start: 0}
	states, parents := []world{start}, []int32{-1}
	found := int32(-1)
	for at := int32(0); int(at) < len(states) && found < 0 && len(states) <= limit; at++ {
		m.yield = func(next world, _ string) {
			if _, ok := numbers[next]; ok || found >= 0 {
				return
			}
			n := int32(len(states))
			numbers[next] = n
			states, parents = append(states, next), append(parents, at)
			if m.check(next) != "" {
				found = n
			}
		}
		m.moves(states[at])
	}
	res := Result{States: len(states)}
	if found >= 0 {
		res.Broken = m.check(states[found])
		res.History = m.history(states, parents, found)
	}
	return res
}

// history describes the way to a state, by making its moves again.
func (m *model) history(states []world, parents []int32, at int32) []string {
	var list []string
	for ; parents[at] >= 0; at = parents[at] {
		what := ""
		m.telling = true
		m.yield = func(next world, how string) {
			if next == states[at] && what == "" {
				what = how
			}
		}
		m.moves(states[parents[at]])
		list = append([]string{what}, list...)
	}
	return list
}

// start is the state in which every resource is available and nobody has asked for anything.
func (m *model) start() world {
	w := world{
		now:     2,
		crashes: m.Crashes, lost: m.LostAnswers, repeats: m.Repeats, liberations: m.Liberations, transfers: m.Transfers, supersedes: m.Supersedes, adoptions: m.Adoptions, imports: m.Imports,
		retires: m.Retires, revives: m.Revives,
	}
	for r, res := range m.Resources {
		id := m.rows.id(lease.Row{Version: 1, Owner: m.Regions[res.Owner], Available: 1})
		for at := range m.Regions {
			w.resources[r][at] = id
		}
	}
	for i, c := range m.Clients {
		w.clients[i] = m.clients.id(client{ops: c.Ops})
	}
	return w
}
