package model

import (
	"fmt"
	"strings"

	"github.com/weirhq/weir/lease"
)

// Result is the result of Explore.
type Result struct {
	States  int      // explored states; each stands for all that differ from it in names only
	Broken  string   // the violated invariant; "": none
	History []string // a shortest history that violates it
	Made    []string // names of the rules by which a write was made
}

// String returns the history, with the violated invariant at its end.
func (r Result) String() string {
	if r.Broken == "" {
		return "no invariant is broken"
	}
	return strings.Join(r.History, "\n") + "\n" + r.Broken
}

// explorer is a model with the states that were found so far.
type explorer struct {
	*packer
	group []*symmetry
	seen  *store
	found int // number of the state that breaks an invariant, or -1
}

// Explore visits all states, nearest first, until an invariant is violated, no state is new, or
// there are more than limit. It returns an error if the names are not distinct, or if an entry of
// Prefix does not match exactly one transition.
func Explore(c Config, limit int) (Result, error) {
	e, start, prefix, err := begin(c)
	if err != nil {
		return Result{}, err
	}
	if err := e.visit(start, limit); err != nil {
		return Result{}, err
	}
	res := Result{States: e.seen.n}
	for _, rule := range c.Rules.All() {
		if e.made[rule] {
			res.Made = append(res.Made, rule.Name)
		}
	}
	if e.found >= 0 {
		res.History, res.Broken = e.history(start)
		res.History = append(prefix, res.History...)
	}
	return res, nil
}

// visit explores from a state on, until a state violates an invariant.
func (e *explorer) visit(start state, limit int) error {
	from, known, encoded := state{}, parts{}, make([]byte, partBytes*e.end)
	at := 0
	e.yield = func(next state, _ string) {
		if e.found >= 0 {
			return
		}
		p := e.pack(&next, &from, &known)
		p = e.least(&p, e.group)
		p.put(encoded)
		if n, isNew := e.seen.add(encoded, at); isNew && e.check(&next) != "" {
			e.found = n
		}
	}
	for e.yield(start, ""); at < e.seen.n && e.found < 0 && e.seen.n <= limit; at++ {
		known.get(e.seen.state(at))
		from = e.unpack(&known)
		e.moves(from)
		if e.full() {
			return errParts
		}
	}
	return nil
}

// begin returns an explorer, the state after the configuration's prefix, and the descriptions of
// the prefix.
func begin(c Config) (*explorer, state, []string, error) {
	if err := c.valid(); err != nil {
		return nil, state{}, nil, err
	}
	m := newModel(c)
	p := newPacker(m)
	e := &explorer{packer: p, seen: newStore(partBytes * p.end), found: -1}
	e.group = e.symmetries()
	if c.NoSymmetry {
		e.group = e.group[:1]
	}
	w, prefix := m.start(), []string{}
	m.describing = true
	for _, what := range c.Prefix {
		var ways []state
		m.yield = func(next state, how string) {
			if strings.HasPrefix(how, what) {
				ways, prefix = append(ways, next), append(prefix, how)
			}
		}
		m.moves(w)
		if len(ways) != 1 {
			return nil, w, prefix, fmt.Errorf("%d transitions begin with %q after:\n%s", len(ways), what, strings.Join(prefix, "\n"))
		}
		w = ways[0]
	}
	m.describing = false
	return e, w, prefix, nil
}

// history returns the descriptions of the transitions to the state found. It makes them again from
// the start: a stored state stands for others, so each transition is to a state for which the
// stored one stands.
func (e *explorer) history(w state) (list []string, broken string) {
	var way []int
	for at := e.found; at > 0; at = e.seen.parent(at) {
		way = append(way, at)
	}
	e.describing = true
	for i := len(way) - 1; i >= 0; i-- {
		what, next := "", state{}
		e.yield = func(to state, how string) {
			known := parts{}
			p := e.pack(&to, &state{}, &known)
			p = e.least(&p, e.group)
			encoded := make([]byte, partBytes*e.end)
			if p.put(encoded); what == "" && string(encoded) == string(e.seen.state(way[i])) {
				what, next = how, to
			}
		}
		e.moves(w)
		list, w = append(list, what), next
	}
	return list, e.check(&w)
}

// start returns the first state: every resource is available, and no operation has begun.
func (m *model) start() state {
	w := state{globals: globals{now: 2, budgets: m.budgets()}}
	for r, res := range m.Resources {
		id := m.rows.id(lease.Row{Version: 1, Owner: m.Regions[res.Owner], Available: 1})
		for at := range m.Regions {
			w.resources[r].copies[at] = id
		}
	}
	for i, c := range m.Clients {
		w.clients[i] = m.clients.id(client{ops: c.Ops})
	}
	return w
}

func (c *Config) budgets() budgets {
	return budgets{
		crashes: c.Crashes, lost: c.LostAnswers, repeats: c.Repeats, liberations: c.Liberations, transfers: c.Transfers,
		supersedes: c.Supersedes, adoptions: c.Adoptions, imports: c.Imports, retires: c.Retires, revives: c.Revives,
	}
}
