package agent

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// linearCall is one call of an agent and what came of it. Times are in milliseconds since 1970, on the one clock of all.
type linearCall struct {
	agent int
	op    string // get, renew, release, or what operations makes of them: begin renew, begin release
	key   string
	until int64 // wanted end
	had   Lease // what is renewed or released
	got   Lease
	err   error

	shadowed   bool  // there is another get of the key, in flight, failed or of unknown outcome, that may have begun a lease
	call, done int64 // in the order of all calls and returns
	at, back   int64 // when
}

// forever is when a call ends of which nobody knows what it did.
const forever = math.MaxInt64

// unknown says whether the call may have done what was asked, in part or whole, now or later.
func (c *linearCall) unknown() bool {
	return errors.Is(c.err, ErrUnavailable) || errors.Is(c.err, ErrThrottled)
}

func (c *linearCall) String() string {
	s := fmt.Sprintf("%d..%d agent %d: %s %s", c.at, c.back, c.agent, c.op, c.key)
	if !strings.HasSuffix(c.op, "get") {
		s += fmt.Sprintf(" %s/%d", c.had.Resource, c.had.Token)
	}
	if !strings.HasSuffix(c.op, "release") {
		s += fmt.Sprintf(" until %d", c.until)
	}
	if c.err != nil {
		return s + ": " + c.err.Error()
	}
	return s + fmt.Sprintf(": %s/%d until %d, new %v", c.got.Resource, c.got.Token, c.got.Expires.UnixMilli(), c.got.New)
}

// terms are what the specification has to know of the pool and its users.
type linearTerms struct{ skew, quarantine int64 }

// linearState is what one key has. It is the specification: no rows, no pending leases, no helping.
//
// Two things of the protocol show in it. A get that fails or goes on may have begun a lease that nobody was told (unseen).
// And renewals and releases are two writes, of the resource's row and of the key's: in between, others are told the old
// lease (half, given), and go on with what was begun when they renew or release it.
type linearState struct {
	resource   string // "" before the first lease
	token, end int64
	released   bool  // given back: until its end the key can have the same resource, and no other
	unseen     bool  // another lease has begun after it
	prior      int64 // token of the lease of the same resource that was given back before this one
	half       int64 // end that a renewal has written to the resource's row only
	given      bool  // a release has been written to the resource's row only
	freed      int64 // when the call that gave it back returned
	healer     int64 // the call that has written the key's row for a renewal that had not, and goes on
	now        int64 // the latest moment that a call was seen to do something after
}

// step is what may be after a call, nothing if it cannot have gone as it did.
func (s linearState) step(c *linearCall, t linearTerms) []linearState {
	next := s.after(c, t)
	for i := range next {
		if n := &next[i]; (n.released || n.given) && !s.released && !s.given {
			n.freed = c.done
		}
	}
	return next
}

func (s linearState) after(c *linearCall, t linearTerms) []linearState {
	s.now = max(s.now, c.at)
	switch c.op {
	case "get":
		return s.get(c, t)
	case "renew":
		return s.renew(c, t)
	case "release":
		return s.release(c, t)
	}
	next := []linearState{s}
	if !s.current(c) || s.released {
		return next
	}
	begun := s
	if s.half > 0 { // it goes on with what another has begun
		begun = s.whole()
		begun.healer = c.call + 1
		next = append(next, begun)
	}
	switch {
	case c.op == "begin renew" && !s.given:
		begun.half = max(c.until, begun.end)
		next = append(next, begun)
	case c.op == "begin release":
		begun.given = true
		next = append(next, begun, begun.over())
	}
	return next
}

// current says whether the lease that a call renews or releases is the one that the key has.
func (s linearState) current(c *linearCall) bool {
	return !s.unseen && s.resource == c.had.Resource && (s.token == c.had.Token || s.healer == c.call+1)
}

// begins gives the first moment at which another lease may begin, with the same resource or not.
func (s linearState) begins(same bool, t linearTerms) int64 {
	switch {
	case s.resource == "" || same && s.released:
		return s.now
	case same:
		return max(s.now, s.end-t.skew) // its holders have stopped; the key may go on with what it has
	default:
		return max(s.now, s.end+t.skew+1)
	}
}

// whole is the state after the second write of a renewal that has made its first.
func (s linearState) whole() linearState {
	return linearState{resource: s.resource, token: s.token + 1, end: s.half, now: s.now}
}

// over is the state after a release.
func (s linearState) over() linearState {
	s.released, s.half, s.given = true, 0, false
	return s
}

func (s linearState) get(c *linearCall, t linearTerms) (next []linearState) {
	switch {
	case errors.Is(c.err, ErrExhausted):
		if s.unseen || (s.released || s.given) && (c.shadowed || s.freed > c.call) { // it had looked before the release, and does not look again
			return []linearState{s}
		}
		if s.now = s.begins(false, t); s.now <= c.back {
			return []linearState{s}
		}
		return nil
	case errors.Is(c.err, ErrEnded): // it came too late for its own wish
		if c.until <= c.back+t.skew {
			return []linearState{s}
		}
		return nil
	case c.err != nil:
		return nil
	}
	g := linearState{resource: c.got.Resource, token: c.got.Token, end: c.got.Expires.UnixMilli(), now: s.now}
	if g.end <= s.now+t.skew {
		return nil
	}
	same := g.resource == s.resource
	if same && !s.released && !s.unseen {
		if g.token == s.token && g.end == s.end {
			next = append(next, s)
		}
		if s.half > 0 && g == s.whole() {
			next = append(next, g)
		}
	}
	if same && g.token <= s.token {
		return next
	}
	if same && s.released {
		g.prior = s.token
	}
	if g.now = s.begins(same, t); g.now <= c.back && g.end > g.now+t.skew {
		next = append(next, g)
	}
	return next
}

func (s linearState) renew(c *linearCall, t linearTerms) (next []linearState) {
	current, ended := s.current(c), c.had.Expires.UnixMilli()
	switch {
	case c.err == nil:
		g := linearState{resource: c.got.Resource, token: c.got.Token, end: c.got.Expires.UnixMilli(), now: s.now}
		if g.resource != c.had.Resource || g.token <= c.had.Token || g.end < max(c.until, ended) || s.released || s.unseen {
			return nil
		}
		if s.resource == g.resource && s.token == g.token && s.end == g.end { // another has renewed it as far, or told it for us
			return []linearState{s}
		}
		if current || s.half > 0 && g == s.whole() {
			return []linearState{g}
		}
		return nil
	case s.lost(c):
		return []linearState{s}
	case errors.Is(c.err, ErrReleased):
		if s.released {
			return []linearState{s}
		}
		if s.given {
			return []linearState{s.over()}
		}
	case errors.Is(c.err, ErrEnded):
		if over := max(s.now, ended-t.skew); over <= c.back {
			s.now = over
			return []linearState{s}
		}
	}
	return s.another(c, t)
}

func (s linearState) release(c *linearCall, t linearTerms) []linearState {
	freed := s
	freed.now = max(s.now, c.had.Expires.UnixMilli()+t.skew+1)
	switch current := s.current(c); {
	case c.err == nil && current && s.half > 0: // the renewal first
		return []linearState{s.whole().over()}
	case c.err == nil && current:
		return []linearState{s.over()}
	case c.err == nil && s.again(c):
		return []linearState{s}
	case c.err != nil && s.lost(c):
		return []linearState{s}
	case (c.err == nil || errors.Is(c.err, ErrEnded)) && freed.now <= c.back: // it was over, and freed
		return []linearState{freed}
	case c.err != nil:
		return s.another(c, t)
	}
	return nil
}

// again says whether a lease may be given back that was given back before. That changes nothing; and it goes as long as whoever
// gets the next one has claimed it in the key's row, which others see, and has not taken the resource yet.
func (s linearState) again(c *linearCall) bool {
	given := s.prior
	if s.released && s.unseen {
		given = s.token
	}
	return c.shadowed && s.resource == c.had.Resource && given == c.had.Token
}

// lost says whether a call may fail because its lease is not the key's any more, or is being renewed.
func (s linearState) lost(c *linearCall) bool {
	if !errors.Is(c.err, ErrStale) && !errors.Is(c.err, ErrEnded) && !errors.Is(c.err, ErrReleased) {
		return false
	}
	return !s.current(c) || errors.Is(c.err, ErrStale) && s.half > 0 || s.released && !errors.Is(c.err, ErrStale)
}

// another is the state after a call failed because of a lease that nobody has seen.
func (s linearState) another(c *linearCall, t linearTerms) []linearState {
	if s.now = s.begins(true, t); !c.shadowed || s.now > c.back || !errors.Is(c.err, ErrStale) && !errors.Is(c.err, ErrEnded) {
		return nil
	}
	s.unseen = true
	return []linearState{s}
}

// linearModel is the specification for the checker, for each key alone.
func linearModel(t linearTerms) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) (parts [][]porcupine.Operation) {
			of := map[string]int{}
			for _, o := range history {
				key := o.Input.(*linearCall).key
				i, ok := of[key]
				if !ok {
					i = len(parts)
					of[key], parts = i, append(parts, nil)
				}
				parts[i] = append(parts[i], o)
			}
			return parts
		},
		Init: func() []any { return []any{linearState{}} },
		Step: func(state, input, _ any) (next []any) {
			for _, s := range state.(linearState).step(input.(*linearCall), t) {
				next = append(next, s)
			}
			return next
		},
	}
	return m.ToModel()
}

// operations is a history as the checker takes it. Of a renewal or a release others may see the first write, before its
// end, or without one: this is a call of its own there, named begin. A get of which nobody knows what it did is none.
func operations(history []*linearCall) (all []porcupine.Operation) {
	add := func(c linearCall) {
		all = append(all, porcupine.Operation{ClientId: c.agent, Input: &c, Call: c.call, Output: &c, Return: c.done})
	}
	for _, c := range history {
		c.shadowed = slices.ContainsFunc(history, func(g *linearCall) bool {
			return g != c && g.op == "get" && g.key == c.key && g.call < c.done && (g.err != nil || g.done > c.call)
		})
		if c.op == "get" {
			if !c.unknown() {
				add(*c)
			}
			continue
		}
		begin := *c
		begin.op = "begin " + c.op
		if c.unknown() {
			begin.back, begin.done = forever, forever
			add(begin) // once for what another had begun
			add(begin) // and once for its own
			continue
		}
		add(begin)
		add(*c)
	}
	return all
}

// linearUse is a lease as it was told to somebody first.
type linearUse struct {
	*linearCall
	end int64
}

// uses lists the leases of a history, each once, with what is wrong with them whoever has them: a token of two leases, an
// end that nobody asked for, a lease that began twice.
func uses(history []*linearCall) (list []linearUse, wrong []string) {
	type id struct {
		resource string
		token    int64
	}
	type wish struct {
		key   string
		until int64
	}
	asked, at, begun := map[wish]int64{}, map[id]int{}, map[id]*linearCall{}
	for _, c := range history {
		if w := (wish{c.key, c.until}); c.op != "release" && (asked[w] == 0 || c.call < asked[w]) {
			asked[w] = c.call
		}
	}
	for _, c := range history {
		if c.err != nil || c.op == "release" {
			continue
		}
		u := linearUse{c, c.got.Expires.UnixMilli()}
		if by := asked[wish{c.key, u.end}]; by == 0 || by > c.done {
			wrong = append(wrong, fmt.Sprintf("nobody had asked for this end: %v", c))
		}
		of := id{c.got.Resource, c.got.Token}
		if c.got.New {
			if begun[of] != nil {
				wrong = append(wrong, fmt.Sprintf("began twice: %v; and %v", begun[of], c))
			}
			begun[of] = c
		}
		i, ok := at[of]
		switch {
		case !ok:
			at[of], list = len(list), append(list, u)
		case list[i].key != c.key || list[i].end != u.end:
			wrong = append(wrong, fmt.Sprintf("one token, two leases: %v; and %v", list[i], c))
		case c.back < list[i].back:
			list[i] = u
		}
	}
	return list, wrong
}

// overlaps says which leases of a history cannot be beside each other. A use of a resource begins when a call has returned
// it and may last until the lease's end, also after it was given back, because others may have been told.
//
//   - Of two keys that have a resource one after the other, the later one has the greater token, and it has it only when the
//     earlier lease is over by the quarantine.
//   - A key that gets another resource gets it after the end of all leases of the one before.
func overlaps(history []*linearCall, t linearTerms) []string {
	list, wrong := uses(history)
	slices.SortStableFunc(list, func(a, b linearUse) int { return int(a.got.Token - b.got.Token) })
	for i, a := range list {
		for _, b := range list[i+1:] { // with a greater token, if of the same resource
			sameKey, sameResource := a.key == b.key, a.got.Resource == b.got.Resource
			switch {
			case sameResource && !sameKey && b.back < a.end+t.quarantine:
				wrong = append(wrong, fmt.Sprintf("%s is of two keys: %v; and %v", a.got.Resource, a, b))
			case sameKey && !sameResource && b.back < a.end-t.skew && a.back < b.end-t.skew:
				wrong = append(wrong, fmt.Sprintf("%s has two resources: %v; and %v", a.key, a, b))
			}
		}
	}
	return wrong
}
